/* Which format reads or writes a path. */
#ifndef CRD_VOLUME_CHOOSE_H
#define CRD_VOLUME_CHOOSE_H

#include "volume/format.h"

/* Splits "file.h5:/dataset". *file is the caller's to free; *dataset points into `path`, or is NULL where there is
 * none. A file that really has such a name is taken whole. */
crd_status crd_split_dataset(const char *path, bool writing, char **file, const char **dataset);

/* By options->format, else by content, else by suffix; raw where the options describe raw data. */
crd_status crd_choose_reader(const crd_volume *volume, const crd_volume_options *options, const crd_format **out);
crd_status crd_choose_writer(const crd_volume *volume, const crd_volume_options *options, const crd_format **out);

#endif
