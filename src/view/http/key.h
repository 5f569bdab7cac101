/* The key that everything but the page itself asks for. */
#ifndef CRD_VIEW_KEY_H
#define CRD_VIEW_KEY_H

#include "base/error.h"
#include "view/http/guard.h"

/* 128 random bits; the same for the same scan and port, so that a tab goes on after a restart: kept in a file that
 * only the user can read. Where that can't be had, the key is a new one each time. */
crd_status crd_key_make(const char *scan, int port, char key[CRD_KEY_BYTES]);

/* A folder of the user's own below the runtime folder, or the cache folder without one; made where it is missing. Free
 * with crd_free. */
crd_status crd_private_folder(char **out);

#endif
