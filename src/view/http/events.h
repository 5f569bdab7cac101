/* What is new, for all who listen: the last few hundred events, each with a number. Any thread may add and read. */
#ifndef CRD_VIEW_EVENTS_H
#define CRD_VIEW_EVENTS_H

#include "base/error.h"
#include "base/text.h"

typedef struct crd_events crd_events;

crd_status crd_events_open(crd_events **out);
void crd_events_free(crd_events **events);
/* `name` is "layer", "cache", ...; `json` is on one line. What doesn't fit an event is dropped, and so is all where
 * memory is short: who listens asks for the state now and then. */
void crd_events_add(crd_events *events, const char *name, const char *json);
/* A comment, so that a silent line is known to be alive. */
void crd_events_keep_alive(crd_events *events);
/* The number of the last one. */
int64_t crd_events_last(crd_events *events);
/* Text of the events behind *position, as many as have room, as text/event-stream; *position moves behind them. Who is
 * too far behind goes on with the oldest. */
int64_t crd_events_read(crd_events *events, int64_t *position, char *bytes, int64_t room);

#endif
