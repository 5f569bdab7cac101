/* The user's own work on a scan: a folder, made with the first thing that is to be kept. Any thread may call. */
#ifndef CRD_VIEW_PROJECT_H
#define CRD_VIEW_PROJECT_H

#include <stdbool.h>

#include "base/json.h"
#include "base/text.h"
#include "credence/volume.h"

typedef struct crd_project crd_project;

/* "z0:z1,y0:y1,x0:x1" */
enum { CRD_BOX_WORDS = 160 };
void crd_box_words(const crd_box *box, char words[CRD_BOX_WORDS]);

/* Reads what is there; a folder that isn't is fine. With `read_only` nothing is ever written. */
crd_status crd_project_open(const char *folder, bool read_only, crd_project **out);
void crd_project_close(crd_project **project);
const char *crd_project_folder(const crd_project *project);
bool crd_project_read_only(const crd_project *project);

/* Makes the folder and takes its lock: from here on no other server writes there. CRD_ERR_BUSY where one does already.
 * Having it is fine. */
crd_status crd_project_claim(crd_project *project);
/* A copy of what view.json holds under a name, for cJSON_Delete; NULL: nothing. */
crd_status crd_project_get(crd_project *project, const char *name, cJSON **out);
/* Such a list as JSON, or `otherwise` where there is none. */
crd_status crd_project_write(crd_project *project, const char *name, const char *otherwise, crd_text *out);
/* Replaces it, on the disk as well. Takes the value, whatever comes of it. */
crd_status crd_project_set(crd_project *project, const char *name, cJSON *value);

/* Has the user ticked a region of a run as looked at? Known by its box in the scan and the run's name. */
bool crd_project_looked(crd_project *project, const char *run, const crd_box *box);
/* Ticks it, or not, on the disk as well. CRD_ERR_BUSY where another server works on the project. */
crd_status crd_project_look(crd_project *project, const char *run, const crd_box *box, bool looked);

#endif
