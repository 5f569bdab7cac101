/* Links that lead out of a volume's folder: the user is told where the voxels come from. */
#ifndef CRD_VOLUME_OUTSIDE_LINK_H
#define CRD_VOLUME_OUTSIDE_LINK_H

#include "credence/monitor.h"

/* Says where `path` leads, if that is a link out of `folder`. `shown`: the volume's name in the sentence. */
void crd_tell_link(const char *shown, const char *folder, const char *path, const crd_monitor *monitor);

#endif
