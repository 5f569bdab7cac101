/* Status codes, the error record, the version, and what holds for all headers.
 *
 *     if (crd_model_load("model.h5", &model) != CRD_OK) fprintf(stderr, "%s\n", crd_last_error()->message);
 *
 * Errors: a function that can fail returns a crd_status and nothing else; results come back through the last
 * parameters. On failure the calling thread's error record holds one sentence that says what, which file, why and what
 * to do about it. The library never prints, exits or aborts.
 *
 * NULL: pointers that a function is given must not be NULL, results among them, unless its description allows it.
 *
 * Ownership: what a function makes (..._open, _create, _load, _make) belongs to the caller, who frees it with the
 * matching function (..._close, _free), which also accepts a pointer to NULL and sets the pointer to NULL. What is
 * passed in is only read, and only during the call, unless the description says otherwise. `const` pointers that come
 * back are borrowed.
 *
 * Threads: calls on different objects may run at the same time; each header says what more is allowed. The error record
 * is thread-local: read it on the thread that saw the failure, before that thread's next call into the library.
 */
#ifndef CREDENCE_STATUS_H
#define CREDENCE_STATUS_H

#if defined(__GNUC__)
#define CRD_API __attribute__((visibility("default")))
#else
#define CRD_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers; crd_version tells that of the library a program runs with. */
#define CREDENCE_VERSION_MAJOR 0
#define CREDENCE_VERSION_MINOR 1
#define CREDENCE_VERSION_PATCH 0

/* Values are fixed for ever; new ones are added at the end. */
typedef enum crd_status {
    CRD_OK = 0,
    CRD_ERR_ARGUMENT = 1,    /* a value the caller gave can't be used */
    CRD_ERR_SYSTEM = 2,      /* the operating system refused: open, read, write, out of disk */
    CRD_ERR_FORMAT = 3,      /* a file's content is broken or isn't what its name says */
    CRD_ERR_UNSUPPORTED = 4, /* understood, but this build or this version can't do it */
    CRD_ERR_MEMORY = 5,      /* memory ran out, or a size overflows */
    CRD_ERR_MISMATCH = 6,    /* two things that must agree don't: model and setting, label and scan */
    CRD_ERR_BUSY = 7,        /* another process is writing there */
    CRD_ERR_CANCELLED = 8,   /* a callback asked to stop */
    CRD_ERR_NUMERIC = 9,     /* not a number where one must be */
    CRD_ERR_INTERNAL = 10    /* a bug of ours: please report it */
} crd_status;

typedef struct crd_error {
    crd_status status;
    char message[1024]; /* one sentence, no newline */
    const char *file;   /* where in the library's source it was raised */
    int line;
} crd_error;

/* The calling thread's last error; never NULL, owned by the library. `status` is CRD_OK if nothing has failed yet. */
CRD_API const crd_error *crd_last_error(void);

/* For functions that the library calls back: makes `sentence` the calling thread's error record, with that status, and
 * returns the status, which must not be CRD_OK. */
CRD_API crd_status crd_set_error(crd_status status, const char *sentence);

/* The short name of a status ("mismatch"), for logs. Never NULL. */
CRD_API const char *crd_status_name(crd_status status);

/* "0.1.0", and one line per optional part that was built in or left out (newline separated). Static storage. */
CRD_API const char *crd_version(void);
CRD_API const char *crd_build_description(void);

#ifdef __cplusplus
}
#endif
#endif
