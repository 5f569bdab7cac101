/* Everything that was done to the files of a folder, in order, for cut.py: which makes of it what a power cut may
 * leave.
 *
 * A file or folder is a number, whatever it is called at a time. Lines: "have N KIND path" (there at the start, KIND
 * file or folder), "make F name N KIND" (in folder F), "link F name N", "drop F name", "move F name G name",
 * "data N offset bytes" (bytes follow), "size N bytes", "room N bytes" (at least so long), "sync N", "sync *".
 * Names are quoted as JSON quotes them. */
#ifndef FAULTS_RECORD_H
#define FAULTS_RECORD_H

#include "calls.h"

/* Begins with what is there. */
bool record_open(const char *path, const char *folder);
bool record_on(void);

/* After a call that did it; paths are absolute. */
void record_make(const char *path, bool is_folder);
void record_link(const char *from, const char *to);
void record_drop(const char *path);
void record_move(const char *from, const char *to);
void record_data(pid_t pid, const char *open_file, int64_t offset, uint64_t from, int64_t bytes);
void record_size(const char *open_file, int64_t bytes, bool at_least);
void record_sync(const char *open_file); /* NULL: all */
bool record_close(void);

#endif
