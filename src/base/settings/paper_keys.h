/* The keys of the config files of the paper's own code (github.com/sandialabs/bcnn), which has one file for training
 * and testing. Every command that reads such a file has the same list, and skips the keys that aren't its own. */
#ifndef CRD_BASE_PAPER_KEYS_H
#define CRD_BASE_PAPER_KEYS_H

#include "credence/settings.h"

enum { CRD_PAPER_KEY_COUNT = 27 };
extern const crd_setting_alias crd_paper_keys[];

#endif
