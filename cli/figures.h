/* Figures of a validation as people and spreadsheets want them; shared by validate and compare. */
#ifndef CLI_FIGURES_H
#define CLI_FIGURES_H

#include "command.h"
#include "credence/validate.h"

/* "0.9312", with so many decimals, or "n/a"; static storage, sixteen in turn. */
const char *cli_figure(double value, int decimals);
/* The same with significant digits: at most so many, or, for columns, that many with their zeros ("0.1810"). */
const char *cli_figure_general(double value, int digits);
const char *cli_figure_digits(double value, int digits);

/* Dice, IoU and shares of every class, and the confusion matrix. */
void cli_print_classes(const crd_validation *validation);

void cli_csv_header(void);
/* One line; `run` and `kind` may be "". */
void cli_csv_row(const char *run, const char *kind, const crd_validation *validation);

/* What must be said first: figures over voxels that the model learnt from, and beside them those over the others.
 * `name` is the run's, or "the model". Nothing where none were. */
void cli_say_seen(const char *name, const crd_validation *validation);

#endif
