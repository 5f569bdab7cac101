/* The user's own work on a scan: a folder, made with the first thing that is to be kept. Any thread may call. */
#ifndef CRD_VIEW_PROJECT_H
#define CRD_VIEW_PROJECT_H

#include <stdbool.h>

#include "base/error.h"
#include "credence/volume.h"

typedef struct crd_project crd_project;

/* Reads what is there; a folder that isn't is fine. With `read_only` nothing is ever written. */
crd_status crd_project_open(const char *folder, bool read_only, crd_project **out);
void crd_project_close(crd_project **project);
const char *crd_project_folder(const crd_project *project);

/* Has the user ticked a region of a run as looked at? Known by its box in the scan and the run's name. */
bool crd_project_looked(crd_project *project, const char *run, const crd_box *box);
/* Ticks it, or not, on the disk as well. CRD_ERR_BUSY where another server works on the project. */
crd_status crd_project_look(crd_project *project, const char *run, const crd_box *box, bool looked);

#endif
