/* labels.journal: what was done to the labels, in order, so that nothing that was confirmed is ever lost, and all of it
 * can be taken back.
 *
 * A head (magic, shape), then records: length and CRC-32 of what follows, a number, a kind, words (JSON) and bytes.
 * Each record is one write; crd_label_journal_sync brings them onto the disk. A last record that isn't whole was never
 * confirmed and is cut off. */
#ifndef CRD_VIEW_LABELS_JOURNAL_H
#define CRD_VIEW_LABELS_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef enum crd_record_kind {
    CRD_RECORD_DONE = 'o',   /* an operation: words about it, and its delta */
    CRD_RECORD_UNDONE = 'u', /* the bytes are the number of what was undone, */
    CRD_RECORD_REDONE = 'r', /* or done again */
    CRD_RECORD_MARK = 'm',   /* all up to its number is in the chunks; the bytes count voxels of each class */
} crd_record_kind;

typedef struct crd_record {
    int64_t number;
    crd_record_kind kind;
    const char *words; /* ends in a zero byte */
    const uint8_t *bytes;
    int64_t count;
    int64_t offset, length; /* in the file */
} crd_record;

typedef struct crd_label_journal crd_label_journal;

/* Reads the file from its beginning; `each` is called for every record, whose words and bytes last for the call. *cut:
 * bytes at the end that were no whole record. With `change` they are cut off, and the file, which is made if need be,
 * can be written on. */
crd_status crd_label_journal_open(const char *path, const int64_t shape[3], bool change,
                                  crd_status (*each)(void *context, const crd_record *record), void *context,
                                  int64_t *cut, crd_label_journal **out);
void crd_label_journal_close(crd_label_journal **journal);

/* Behind the last record. Where this fails the file is as before. */
crd_status crd_label_journal_append(crd_label_journal *journal, crd_record *record);
/* Takes the records from `offset` on away again. */
crd_status crd_label_journal_drop(crd_label_journal *journal, int64_t offset);
/* All that was appended is on the disk. Where that fails, it is cut off again. */
crd_status crd_label_journal_sync(crd_label_journal *journal);
int64_t crd_label_journal_bytes(const crd_label_journal *journal);
/* A record again; free *room with crd_free when it isn't needed any more. */
crd_status crd_label_journal_read(crd_label_journal *journal, int64_t offset, int64_t length, uint8_t **room,
                                  crd_record *out);
/* Forgets what lies before `offset`, where a record begins. *moved: how far the others move to the front. */
crd_status crd_label_journal_forget(crd_label_journal *journal, int64_t offset, int64_t *moved);

#endif
