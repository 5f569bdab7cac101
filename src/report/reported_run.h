/* A run as a report sees it: its volumes, its manifest, its figures, and a survey of its map. */
#ifndef CRD_REPORT_REPORTED_RUN_H
#define CRD_REPORT_REPORTED_RUN_H

#include "chunk/label.h"
#include "credence/model.h"
#include "credence/report.h"
#include "credence/validate.h"
#include "report/look_survey.h"
#include "run/read.h"

enum { CRD_SURVEY_BINS = 4096 };

typedef struct crd_survey {
    double *uncertainty[3]; /* mean by slice along each axis, of the voxels that count; NULL without a map */
    double *inside[3];      /* how many those are */
    double *wrong[3];       /* share of wrong voxels, NaN where none has a label; NULL without a label */
    double *labelled[3];    /* voxels with a label */
    double high;            /* 99.9 percent of the map lie below */
    double mean, largest;
    int64_t bins[CRD_SURVEY_BINS]; /* of [0, 1] */
    double foreground;             /* share of the segmentation */
    crd_look_survey look;
} crd_survey;

typedef struct crd_reported_run {
    const char *folder;
    char *folder_name; /* without what it lies in */
    char name[32];     /* "Run A (bcnn)" where there are two, else "" */
    crd_manifest run;
    crd_validation *figures;               /* NULL: not validated */
    crd_volume *prob, *seg, *unc, *scan;   /* NULL: not there */
    crd_volume *maps[4];                   /* the first further intervals, */
    char map_names[4][CRD_INTERVAL_BYTES]; /* and what they are called */
    int64_t map_count;
    double prob_scale, unc_scale, map_scales[4];
    crd_volume *mask;  /* which voxels of the scan count; NULL: all */
    bool mask_is_its;  /* the run's own; else it is only what the figures are over */
    char *mask_name;   /* "the circle inscribed in y and x", or the file's */
    crd_label *label;  /* NULL: none */
    int class_count;   /* 2, or more: then run.classes says what they are, and the label has the same */
    crd_box whole;     /* of the run's volumes */
    crd_box in_scan;   /* the same in the scan */
    bool placed;       /* the manifest says where in the scan */
    int64_t origin[3]; /* what the volumes' own files say */
    crd_box in_label;
    double spacing[3];
    char unit[16];
    crd_volume_statistics scan_statistics;
    double scan_low, scan_high; /* the grey values drawn black and white */
    crd_model *model;           /* NULL: its file isn't there any more */
    crd_text_list warnings;     /* of the run, then of the report */
    crd_survey survey;
} crd_reported_run;

/* What the model says of its training; NULL where it isn't there. */
const crd_model_info *crd_reported_model(const crd_reported_run *run);

/* Opens, validates if need be, and surveys. `run` is zeroed before, and closed whatever happens. */
crd_status crd_reported_run_open(const char *folder, const crd_report_options *options, const crd_monitor *monitor,
                                 crd_reported_run *run);
void crd_reported_run_close(crd_reported_run *run);

/* The class that a value in the segmentation of more than two is, from 0 on; -1: none. */
int crd_reported_class(const crd_reported_run *run, float value);

crd_status crd_survey_make(crd_reported_run *run, const crd_monitor *monitor);
void crd_survey_free(crd_survey *survey);

#endif
