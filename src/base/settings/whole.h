/* The options of a program that was built with older headers, as this library knows them. */
#ifndef CRD_BASE_SETTINGS_WHOLE_H
#define CRD_BASE_SETTINGS_WHOLE_H

#include "base/error.h"
#include "credence/settings.h"

/* Fills `whole`, a struct of table->size bytes, from `options`, which may be shorter: what is missing gets its default.
 * Strings and lists stay those of `options`, which must outlive it. */
crd_status crd_settings_whole(const crd_settings *table, const void *options, void *whole);
/* Frees what was added. Of `options` only the size is looked at. */
void crd_settings_whole_free(const crd_settings *table, const void *options, void *whole);

#endif
