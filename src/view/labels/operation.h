/* One operation of the user's, as checked data. What the page sends is only looked at here.
 *
 * {"do":"stroke","axis":0,"slice":5,"points":[down,right,...],"radius":24,"ball":false,"value":1}
 *                                          points in eighths of a voxel: voxel i spans 8 i to 8 i + 8; the radius in
 *                                          eighths of the scan's smallest voxel edge
 * {"do":"fill","axis":0,"slice":5,"at":[down,right],"value":1}                     voxels
 * {"do":"polygon","axis":0,"slice":5,"points":[down,right,...],"value":1}
 * {"do":"between","axis":0,"slice":5,"to":9,"value":1}
 * {"do":"accept","box":"z0:z1,y0:y1,x0:x1","below":0.2}                            without below: all
 * {"do":"clear","box":"z0:z1,y0:y1,x0:x1"}
 *
 * and in any: "id":"...", "over":"all", "unlabelled" or [classes], "grey":[low,high], "box". */
#ifndef CRD_VIEW_LABELS_OPERATION_H
#define CRD_VIEW_LABELS_OPERATION_H

#include <stdbool.h>

#include "base/json.h"
#include "credence/volume.h"

enum { CRD_PAINT_POINTS = 4096, CRD_PAINT_RADIUS = 2048, CRD_PAINT_ID = 48, CRD_PAINT_CLASSES = 16 };

typedef enum crd_paint_kind {
    CRD_PAINT_STROKE,
    CRD_PAINT_FILL,
    CRD_PAINT_POLYGON,
    CRD_PAINT_BETWEEN,
    CRD_PAINT_ACCEPT,
    CRD_PAINT_CLEAR,
    CRD_PAINT_KINDS
} crd_paint_kind;

typedef struct crd_operation {
    crd_paint_kind kind;
    char id[CRD_PAINT_ID]; /* "": none */
    int axis;
    int64_t slice, to;
    int64_t at[2];
    int64_t (*points)[2];
    int64_t point_count;
    int64_t radius;
    bool ball;
    uint8_t value;
    bool over[256]; /* what may be painted over */
    bool greyed, limited, boxed;
    double grey[2], below;
    crd_box box; /* the whole volume unless it is boxed */
} crd_operation;

extern const char *const crd_paint_names[CRD_PAINT_KINDS];

/* CRD_ERR_ARGUMENT with a sentence where it can't be done; free with crd_operation_free in any case. */
crd_status crd_operation_read(const cJSON *json, const int64_t shape[3], crd_operation *out);
void crd_operation_free(crd_operation *operation);
/* An id that a request may have: letters, digits, - and _; false for another. Without one it is "". */
bool crd_operation_id(const cJSON *json, char id[CRD_PAINT_ID]);

#endif
