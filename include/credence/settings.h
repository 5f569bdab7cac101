/* Settings as data: one table row per setting serves the flag on the command line, its line in --help and in the man
 * page, the key in a JSON file, and the entry in a manifest.
 *
 * A table describes a plain struct of options. Fields are: FLAG -> bool, INT -> int64_t, REAL -> double, TEXT and
 * CHOICE -> char *, LIST -> crd_text_list, TRIPLE -> int64_t[3], REALS -> crd_real_list, PAIRS -> crd_pair_list.
 * Strings and lists are owned by the struct: crd_settings_clear frees them.
 *
 * The library's own structs of options begin with their size, which crd_settings_default fills in. New options join
 * them at the end only, so that a program which was built with older headers runs with a newer library: the options
 * that it doesn't know have their defaults.
 *
 *     typedef struct options { int64_t epochs; char *kind; } options;
 *     static const crd_setting rows[] = {
 *         {.name = "epochs", .kind = CRD_SETTING_INT, .scope = CRD_SCOPE_FINISH, .offset = offsetof(options, epochs),
 *          .initial = "5", .low = 1, .high = 100000, .argument = "N", .help = "number of passes over the data"},
 *         {.name = "kind", .kind = CRD_SETTING_CHOICE, .offset = offsetof(options, kind), .initial = "bcnn",
 *          .choices = "bcnn|mcdn", .help = "the network's kind"}};
 *     static const crd_settings table = {.title = "train", .rows = rows, .count = 2};
 *
 *     options chosen;
 *     crd_settings_default(&table, &chosen);
 *     crd_settings_set(&table, &chosen, "epochs", "7");
 *     crd_settings_clear(&table, &chosen);
 *
 * Text is read and written the same way in every locale. Where a sentence of the error record is about the value of a
 * setting, it begins with the setting's name.
 *
 * Threads: tables are constant and may be shared; a struct of options is used by one thread at a time while it is being
 * filled or cleared, and may be read by several.
 */
#ifndef CREDENCE_SETTINGS_H
#define CREDENCE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum crd_setting_kind {
    CRD_SETTING_FLAG = 0, /* no value on the command line: present is true; JSON true/false */
    CRD_SETTING_INT = 1,
    CRD_SETTING_REAL = 2, /* finite */
    CRD_SETTING_TEXT = 3,
    CRD_SETTING_CHOICE = 4, /* one of `choices` */
    CRD_SETTING_LIST = 5,   /* text, repeatable; JSON array of strings */
    CRD_SETTING_TRIPLE = 6, /* z,y,x; JSON array of three integers, or the text */
    CRD_SETTING_REALS = 7,  /* comma-separated numbers; JSON array */
    CRD_SETTING_PAIRS = 8   /* 33-67,5-95: comma-separated pairs of numbers; JSON: the text */
} crd_setting_kind;

/* What a setting has to do with the result, from everything to nothing. What is recorded of a run, what it must share
 * with one that resumes it, and what may differ between its processes follows from it: each takes the scopes up to
 * one of these. */
typedef enum crd_setting_scope {
    CRD_SCOPE_RESULT = 0,  /* shapes the result: a resumed run must have the same */
    CRD_SCOPE_FINISH = 1,  /* how far a run goes, or the form of what it writes last: a resumed run may have another */
    CRD_SCOPE_INPUT = 2,   /* which files are read, and how: what they hold counts, not where they lie */
    CRD_SCOPE_MACHINE = 3, /* what computes: the last digits may depend on it */
    CRD_SCOPE_PLACE = 4,   /* where the result goes, and how the run is done */
    CRD_SCOPE_PROCESS = 5  /* the same, and may differ between the processes of a job */
} crd_setting_scope;

typedef struct crd_text_list {
    char **items;
    int64_t count;
} crd_text_list;

typedef struct crd_real_list {
    double *items;
    int64_t count;
} crd_real_list;

typedef struct crd_pair {
    double low, high;
} crd_pair;

typedef struct crd_pair_list {
    crd_pair *items;
    int64_t count;
} crd_pair_list;

typedef struct crd_setting {
    const char *name; /* without dashes: "kl-temperature" */
    crd_setting_kind kind;
    crd_setting_scope scope;
    size_t offset;        /* offsetof in the options struct */
    const char *initial;  /* the default, as text; NULL: 0, NULL or empty. A LIST has none */
    double low, high;     /* allowed range of INT, REAL, and each number of TRIPLE, REALS and PAIRS; both 0: any */
    const char *choices;  /* CHOICE: "a|b|c". TRIPLE: a word that stands for 0,0,0 ("auto"), or NULL */
    const char *argument; /* what --help calls the value: "FILE", "z,y,x" */
    const char *help;     /* one sentence without the final dot */
    char short_name;      /* 'o' for -o, or 0 */
    const char *group;    /* heading in --help from this row on; NULL: that of the row before */
    bool unsaid;          /* left out of JSON at its default: what was recorded before there was it stays the same */
    /* TEXT with a form of its own, or an INT, TRIPLE or PAIRS of which a range doesn't say all: fails with a sentence
     * that begins with `name`. Empty text isn't asked about; NULL: any value will do. */
    crd_status (*check)(const char *name, const char *text);
    /* offsetof a bool of the options struct that is true once the setting was given, even with its default value; 0:
     * none. For options that mean something by being there. */
    size_t mark;
    /* What it is when nothing is said of any, where that isn't `initial`, since other settings make it something else
     * then; for --help. NULL: `initial`. */
    const char *usual;
} crd_setting;

/* Another name that a key may have in JSON files. A table may have several for one key: the first whose setting it has
 * counts, and where it has none of them the key is known and has no meaning. */
typedef struct crd_setting_alias {
    const char *key;  /* "*_dir": every key that ends so */
    const char *name; /* of the setting; NULL: the key is known and has no meaning here */
    double add;       /* added to a number: files that count epochs from 2 where we count from 1 have -1 */
    /* What false and true stand for; NULL: themselves. Where given, the alias is for these only. */
    const char *words[2];
    const char *upper; /* the number at this other key and ours are the ends of a range, "33-67"; NULL: no range */
} crd_setting_alias;

typedef struct crd_settings {
    const char *title; /* "train" */
    const crd_setting *rows;
    size_t count;
    const crd_setting_alias *aliases; /* or NULL */
    size_t alias_count;
    size_t size; /* bytes of the options struct, which then begins with a size_t of its own size; 0: it doesn't */
} crd_settings;

/* Fills the struct with the defaults; what it held before is overwritten, not freed. */
#define crd_settings_default(table, options) crd_settings_begin((table), (options), sizeof *(options))
/* The same for a struct of that many bytes, of which the compiler doesn't know the type; table->size of them hold all
 * options that the library has. */
CRD_API crd_status crd_settings_begin(const crd_settings *table, void *options, size_t size);
/* Frees the strings and lists of the struct and zeroes every field and mark the table names. */
CRD_API void crd_settings_clear(const crd_settings *table, void *options);
/* Sets one by its name ('-' and '_' are the same) from text; LIST appends; NULL or "" for a FLAG means true. On failure
 * the old value stays. Unknown names are an error that suggests the nearest; so are options that a struct of an older
 * program has no room for. */
CRD_API crd_status crd_settings_set(const crd_settings *table, void *options, const char *name, const char *text);
/* Sets many from a JSON object (text). Keys may use '-' or '_'. An object that keeps its settings under the key
 * "settings", as a manifest does, is understood, too. A JSON string is read like text on the command line; a LIST is
 * replaced; null is the default of what isn't a number or a FLAG. `given[i]` keeps row i untouched (a flag that
 * wins over the file); rows that the file sets are marked there, so that a preset can follow as another JSON object;
 * NULL: no marks. Unknown keys are an error that names the key. `source` is the file's name for the sentence. After a
 * failure some may be set. */
CRD_API crd_status crd_settings_from_json(const crd_settings *table, void *options, const char *json,
                                          const char *source, bool *given);
/* The settings up to a scope as a JSON object, in table order, names with '-'; CRD_SCOPE_PROCESS: all of them. Free it
 * with crd_settings_free_text. Numbers come back exactly: integers from 2^53 on are written as strings. */
CRD_API crd_status crd_settings_to_json(const crd_settings *table, const void *options, crd_setting_scope widest,
                                        char **json);
CRD_API void crd_settings_free_text(char **json);

/* The row of that name, or NULL. It belongs to the table. */
CRD_API const crd_setting *crd_settings_find(const crd_settings *table, const char *name);
/* Of `count` names the one that `word` is most likely a misspelling of, or NULL when none is close. */
CRD_API const char *crd_nearest_name(const char *word, const char *const *names, size_t count);

#ifdef __cplusplus
}
#endif
#endif
