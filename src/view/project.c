#include "view/project.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "run/lock.h"

enum { FILE_BYTES = 16 << 20 };

/* view.json: {"version": 1, "looked": [{"run": "run", "box": "0:16,0:64,0:64"}, ...]}. What a later version adds is
 * kept as it is. */
struct crd_project {
    pthread_mutex_t lock;
    char *folder, *file;
    bool read_only;
    cJSON *document;
    crd_lock *held; /* from the first time that something is written */
};

void crd_box_words(const crd_box *box, char words[CRD_BOX_WORDS])
{
    snprintf(words, CRD_BOX_WORDS, "%lld:%lld,%lld:%lld,%lld:%lld", (long long)box->origin[0],
             (long long)(box->origin[0] + box->size[0]), (long long)box->origin[1],
             (long long)(box->origin[1] + box->size[1]), (long long)box->origin[2],
             (long long)(box->origin[2] + box->size[2]));
}

static crd_status read_document(crd_project *project)
{
    crd_status status = CRD_OK;
    char *text = NULL;
    if (access(project->file, F_OK) == 0) {
        CRD_TRY(crd_read_file(project->file, FILE_BYTES, &text, NULL));
        project->document = cJSON_Parse(text);
        const cJSON *version = cJSON_GetObjectItem(project->document, "version");
        if (!cJSON_IsNumber(version)) {
            CRD_FAIL(CRD_ERR_FORMAT, "%s isn't what credence view keeps there; move it away, or choose --project DIR",
                     project->file);
        }
        if (version->valuedouble != 1.0) {
            CRD_FAIL(CRD_ERR_UNSUPPORTED, "%s was written by a later version of credence", project->file);
        }
    } else {
        project->document = cJSON_CreateObject();
        (void)cJSON_AddNumberToObject(project->document, "version", 1.0);
    }
    if (!cJSON_IsArray(cJSON_GetObjectItem(project->document, "looked"))) {
        cJSON_DeleteItemFromObject(project->document, "looked");
        if (cJSON_AddArrayToObject(project->document, "looked") == NULL) {
            CRD_FAIL(CRD_ERR_MEMORY, "there is no memory for the project");
        }
    }
done:
    crd_free(&text);
    return status;
}

crd_status crd_project_open(const char *folder, bool read_only, crd_project **out)
{
    crd_status status = CRD_OK;
    crd_project *project = NULL;
    CRD_TRY(crd_alloc(1, sizeof *project, "the project", &project));
    if (pthread_mutex_init(&project->lock, NULL) != 0) {
        crd_free(&project);
        return crd_fail(CRD_ERR_SYSTEM, "no lock can be made");
    }
    project->read_only = read_only;
    CRD_TRY(crd_strdup(folder, &project->folder));
    CRD_TRY(crd_join_path(folder, "view.json", "", &project->file));
    CRD_TRY(read_document(project));
    *out = project;
    project = NULL;
done:
    crd_project_close(&project);
    return status;
}

void crd_project_close(crd_project **project)
{
    crd_project *p = *project;
    if (p == NULL) return;
    crd_lock_release(&p->held);
    cJSON_Delete(p->document);
    crd_free(&p->folder);
    crd_free(&p->file);
    pthread_mutex_destroy(&p->lock);
    crd_free(project);
}

const char *crd_project_folder(const crd_project *project)
{
    return project->folder;
}

bool crd_project_read_only(const crd_project *project)
{
    return project->read_only;
}

static int find(const cJSON *list, const char *run, const char *words)
{
    int number = 0;
    for (const cJSON *item = list->child; item != NULL; item = item->next, number++) {
        const char *of = cJSON_GetStringValue(cJSON_GetObjectItem(item, "run"));
        const char *box = cJSON_GetStringValue(cJSON_GetObjectItem(item, "box"));
        if (of != NULL && box != NULL && strcmp(of, run) == 0 && strcmp(box, words) == 0) return number;
    }
    return -1;
}

bool crd_project_looked(crd_project *project, const char *run, const crd_box *box)
{
    char words[CRD_BOX_WORDS];
    crd_box_words(box, words);
    pthread_mutex_lock(&project->lock);
    const bool looked = find(cJSON_GetObjectItem(project->document, "looked"), run, words) >= 0;
    pthread_mutex_unlock(&project->lock);
    return looked;
}

/* What another server wrote before we took the lock must not be undone by what we read earlier. */
static crd_status claim(crd_project *p)
{
    crd_status status = CRD_OK;
    char *lock = NULL;
    cJSON *before = p->document;
    if (p->held != NULL) return CRD_OK;
    CRD_TRY(crd_make_lasting_folders(p->folder));
    CRD_TRY(crd_join_path(p->folder, "lock", "", &lock));
    CRD_TRY(crd_lock_take(lock, NULL, &p->held));
    p->document = NULL;
    status = read_document(p);
    if (status != CRD_OK) {
        cJSON_Delete(p->document);
        p->document = before;
        crd_lock_release(&p->held);
        goto done;
    }
    cJSON_Delete(before);
done:
    crd_free(&lock);
    return status;
}

crd_status crd_project_claim(crd_project *project)
{
    if (project->read_only) {
        return crd_fail(CRD_ERR_ARGUMENT, "this viewer only looks (--read-only): start it without that to keep work");
    }
    pthread_mutex_lock(&project->lock);
    const crd_status status = claim(project);
    pthread_mutex_unlock(&project->lock);
    return status;
}

/* Under our own lock against other servers from here on. */
static crd_status write_document(crd_project *p)
{
    crd_status status = CRD_OK;
    char *text = NULL;
    if (p->read_only) return CRD_OK;
    CRD_TRY(claim(p));
    CRD_TRY(crd_json_print(p->document, false, &text));
    CRD_TRY(crd_write_file(p->file, text, strlen(text)));
done:
    crd_free(&text);
    return status;
}

crd_status crd_project_get(crd_project *project, const char *name, cJSON **out)
{
    pthread_mutex_lock(&project->lock);
    const cJSON *found = cJSON_GetObjectItem(project->document, name);
    *out = found != NULL ? cJSON_Duplicate(found, true) : NULL;
    pthread_mutex_unlock(&project->lock);
    if (found == NULL || *out != NULL) return CRD_OK;
    return crd_fail(CRD_ERR_MEMORY, "there is no memory for the project");
}

crd_status crd_project_write(crd_project *project, const char *name, const char *otherwise, crd_text *out)
{
    crd_status status = CRD_OK;
    cJSON *list = NULL;
    char *words = NULL;
    CRD_TRY(crd_project_get(project, name, &list));
    if (!cJSON_IsArray(list)) {
        crd_text_add(out, otherwise);
        goto done;
    }
    CRD_TRY(crd_json_print(list, true, &words));
    for (size_t length = strlen(words); length > 0 && words[length - 1] == '\n';) words[--length] = '\0';
    crd_text_add(out, words);
done:
    cJSON_Delete(list);
    crd_free(&words);
    return status;
}

crd_status crd_project_set(crd_project *project, const char *name, cJSON *value)
{
    if (value == NULL) return crd_fail(CRD_ERR_MEMORY, "there is no memory for the project");
    const crd_status claimed = crd_project_claim(project);
    if (claimed != CRD_OK) {
        cJSON_Delete(value);
        return claimed;
    }
    pthread_mutex_lock(&project->lock);
    cJSON *before = cJSON_DetachItemFromObject(project->document, name);
    crd_status status = CRD_OK;
    if (!cJSON_AddItemToObject(project->document, name, value)) {
        cJSON_Delete(value);
        status = crd_fail(CRD_ERR_MEMORY, "there is no memory for the project");
    } else {
        status = write_document(project);
    }
    if (status != CRD_OK) { /* what isn't on the disk isn't so */
        const crd_error error = *crd_last_error();
        cJSON_DeleteItemFromObject(project->document, name);
        if (before != NULL && cJSON_AddItemToObject(project->document, name, before)) before = NULL;
        status = crd_error_adopt(&error);
    }
    cJSON_Delete(before);
    pthread_mutex_unlock(&project->lock);
    return status;
}

static crd_status tick(cJSON *list, const char *run, const char *words)
{
    cJSON *item = cJSON_CreateObject();
    if (cJSON_AddStringToObject(item, "run", run) != NULL && cJSON_AddStringToObject(item, "box", words) != NULL &&
        cJSON_AddItemToArray(list, item)) {
        return CRD_OK;
    }
    cJSON_Delete(item);
    return crd_fail(CRD_ERR_MEMORY, "there is no memory for the project");
}

crd_status crd_project_look(crd_project *project, const char *run, const crd_box *box, bool looked)
{
    crd_status status = CRD_OK;
    char words[CRD_BOX_WORDS];
    crd_box_words(box, words);
    pthread_mutex_lock(&project->lock);
    if (!project->read_only) CRD_TRY(claim(project));
    cJSON *list = cJSON_GetObjectItem(project->document, "looked");
    const int number = find(list, run, words);
    if (looked == (number >= 0)) goto done;
    if (looked) {
        CRD_TRY(tick(list, run, words));
    } else {
        cJSON_DeleteItemFromArray(list, number);
    }
    status = write_document(project);
    if (status != CRD_OK && looked) { /* what isn't on the disk isn't so */
        cJSON_DeleteItemFromArray(list, find(list, run, words));
    } else if (status != CRD_OK) {
        const crd_error error = *crd_last_error();
        (void)tick(list, run, words);
        status = crd_error_adopt(&error);
    }
done:
    pthread_mutex_unlock(&project->lock);
    return status;
}
