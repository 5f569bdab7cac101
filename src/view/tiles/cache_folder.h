/* Where coarser levels are kept between two looks at the same volume: one folder for each, the least recently used
 * given up first. Never beside the inputs. */
#ifndef CRD_VIEW_CACHE_FOLDER_H
#define CRD_VIEW_CACHE_FOLDER_H

#include "view/tiles/layers.h"

typedef struct crd_cache_folder crd_cache_folder;

/* `where` is a folder, or NULL for "credence/view" in the user's cache folder; `limit` < 0: 50 GiB, or a tenth of the
 * free disk where that is less. */
crd_status crd_cache_folder_open(const char *where, int64_t limit, crd_cache_folder **out);
void crd_cache_folder_close(crd_cache_folder **cache);

/* The folder of a layer, which is made, with room for what is to be written there: a volume that changed has another
 * one. Held until the cache is closed; *out NULL where there is no room for it, or another process is at work there.
 * Free with crd_free. */
crd_status crd_cache_folder_take(crd_cache_folder *cache, const crd_layer *layer, int64_t bytes, char **out);

#endif
