/* What the values of a label mean. */
#ifndef CRD_VIEW_LABEL_VALUES_H
#define CRD_VIEW_LABEL_VALUES_H

#include "view/tiles/layers.h"

/* Classes of a label volume from its values: 0 to 15 are themselves; of others, such as 0, 128 and 255, each that a
 * sample has is a class, in rising order. 255 beside small numbers is what nobody labelled. */
crd_status crd_label_values_find(crd_layer *layer, const crd_monitor *monitor);

#endif
