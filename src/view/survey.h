/* Where to look first in a run that is looked at (report/look_survey.h): one pass over its volumes. */
#ifndef CRD_VIEW_SURVEY_H
#define CRD_VIEW_SURVEY_H

#include "report/look_survey.h"
#include "view/tiles/layers.h"

/* One pass over uncertainty and segmentation, which have the same shape; the segmentation may be missing (NULL): then
 * nothing is explained. `pause`, which may be NULL, is called for each slice with the share that is done; false stops,
 * and *done stays false. */
crd_status crd_look_survey_make(crd_volume *uncertainty, double scale, crd_volume *segmentation,
                                bool (*pause)(void *context, double share), void *context, crd_look_survey *out,
                                bool *done);

#endif
