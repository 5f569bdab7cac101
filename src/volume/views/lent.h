/* Volumes that a caller lends to the library under a name, which opens them wherever a file's name does. */
#ifndef CRD_VOLUME_VIEWS_LENT_H
#define CRD_VOLUME_VIEWS_LENT_H

#include "volume/format.h"

/* "memory:NAME", as a lent volume is called; of a NULL name a number makes one. CRD_ERR_ARGUMENT where it can't be part
 * of a file's name. Free with crd_free. */
crd_status crd_lent_path(const char *name, char **path);

/* From now on its path opens it, until it is closed. CRD_ERR_BUSY where another has that name. */
crd_status crd_lend(crd_volume *volume);
/* For crd_volume_close. */
void crd_lent_end(crd_volume *volume);

/* Is a volume of that name lent? */
bool crd_is_lent(const char *path);
/* The same volume again, for one who has only its name; *out is NULL, without an error, where none is lent so. */
crd_status crd_lent_open(const char *path, crd_volume **out);

#endif
