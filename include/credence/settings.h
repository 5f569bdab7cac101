/* Settings as data: one table row per setting serves the flag on the command line, its line in --help and in the man
 * page, the key in a JSON file, and the entry in a manifest.
 *
 * A table describes a plain struct of options. Fields are: FLAG -> int, INT -> int64_t, REAL -> double, TEXT and
 * CHOICE -> char *, LIST -> crd_text_list, TRIPLE -> int64_t[3], REALS -> crd_real_list. Strings and lists are owned
 * by the struct: crd_settings_clear frees them.
 */
#ifndef CREDENCE_SETTINGS_H
#define CREDENCE_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum crd_setting_kind {
    CRD_SETTING_FLAG,    /* no value on the command line: present = 1; JSON true/false */
    CRD_SETTING_INT,
    CRD_SETTING_REAL,
    CRD_SETTING_TEXT,
    CRD_SETTING_CHOICE,  /* one of `choices` */
    CRD_SETTING_LIST,    /* text, repeatable; JSON array of strings */
    CRD_SETTING_TRIPLE,  /* z,y,x; JSON array of three integers, or the text */
    CRD_SETTING_REALS    /* comma-separated numbers; JSON array */
} crd_setting_kind;

typedef struct crd_text_list {
    char **items;
    int64_t count;
} crd_text_list;

typedef struct crd_real_list {
    double *items;
    int64_t count;
} crd_real_list;

typedef struct crd_setting {
    const char *name;        /* without dashes: "kl-temperature" */
    crd_setting_kind kind;
    size_t offset;           /* offsetof in the options struct */
    const char *initial;     /* the default, as text; NULL: 0, NULL or empty */
    double low, high;        /* INT and REAL: allowed range; ignored when both are 0 */
    const char *choices;     /* CHOICE: "a|b|c" */
    const char *argument;    /* what --help calls the value: "FILE", "z,y,x" */
    const char *help;        /* one sentence without the final dot */
    char short_name;         /* 'o' for -o, or 0 */
} crd_setting;

typedef struct crd_settings {
    const char *title;            /* "train" */
    const crd_setting *rows;
    size_t count;
} crd_settings;

/* Fills the struct with the defaults. */
CRD_API crd_status crd_settings_default(const crd_settings *table, void *options);
/* Frees the strings and lists of the struct and zeroes it. */
CRD_API void crd_settings_clear(const crd_settings *table, void *options);
/* Sets one by its name from text; LIST appends. Unknown names are an error that suggests the nearest. */
CRD_API crd_status crd_settings_set(const crd_settings *table, void *options, const char *name, const char *text);
/* Sets many from a JSON object (text). Keys may use '-' or '_'. `given[i]` != 0 keeps row i untouched (a flag that
 * wins over the file); NULL: none does. Unknown keys are an error that names the key. */
CRD_API crd_status crd_settings_from_json(const crd_settings *table, void *options, const char *json,
                                          const char *source, const unsigned char *given);
/* All settings as a JSON object, in table order; free with crd_settings_free_text. */
CRD_API crd_status crd_settings_to_json(const crd_settings *table, const void *options, char **json);
CRD_API void crd_settings_free_text(char **json);

#ifdef __cplusplus
}
#endif
#endif
