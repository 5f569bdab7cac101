/* Names of classes: part of file names, so letters, digits and a few signs. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "credence/number.h"
#include "net/class_names.h"

int crd_class_names_count(const char *names)
{
    int count = names[0] != '\0';
    for (; *names != '\0'; names++) count += *names == ',';
    return count;
}

/* Name number `class` of a list. */
static void pick(const char *names, int class, char name[CRD_CLASS_NAME_TEXT])
{
    for (; class > 0; class --) names = strchr(names, ',') + 1;
    snprintf(name, CRD_CLASS_NAME_TEXT, "%.*s", (int)strcspn(names, ","), names);
}

crd_status crd_check_class_names(const char *name, const char *text)
{
    const int count = crd_class_names_count(text);
    char one[CRD_CLASS_NAME_TEXT], other[CRD_CLASS_NAME_TEXT];
    if (count < 2 || count > CRD_CLASSES_MAX)
        return crd_fail(CRD_ERR_ARGUMENT, "%s must name 2 to %d classes, with commas between them, not %d", name,
                        (int)CRD_CLASSES_MAX, count);
    const char *at = text;
    for (int class = 0; class < count; class ++) {
        const size_t length = strcspn(at, ",");
        bool fits = length > 0 && length < CRD_CLASS_NAME_TEXT;
        for (size_t i = 0; i < length; i++)
            fits = fits && (isalnum((unsigned char)at[i]) || (i > 0 && strchr("-_.", at[i]) != NULL));
        if (!fits)
            return crd_fail(CRD_ERR_ARGUMENT,
                            "%s: \"%.*s\" is no name of a class: it must have 1 to %d letters, digits or -_., of which "
                            "it begins with a letter or digit",
                            name, (int)length, at, CRD_CLASS_NAME_TEXT - 1);
        pick(text, class, one);
        for (int before = 0; before < class; before++) {
            pick(text, before, other);
            if (strcmp(one, other) == 0)
                return crd_fail(CRD_ERR_ARGUMENT, "%s: two classes have the name %s", name, one);
            if (strcasecmp(one, other) == 0) /* files of that name are the same on some systems */
                return crd_fail(CRD_ERR_ARGUMENT, "%s: %s and %s differ in nothing but large and small letters", name,
                                other, one);
        }
        at += length + (at[length] == ',');
    }
    return CRD_OK;
}

void crd_class_name(const crd_model_info *info, int class, char name[CRD_CLASS_NAME_TEXT])
{
    char number[CRD_NUMBER_BYTES];
    if (info->class_names[0] != '\0')
        pick(info->class_names, class, name);
    else if (info->classes <= 2)
        snprintf(name, CRD_CLASS_NAME_TEXT, "%s", class == 0 ? "background" : "foreground");
    else
        snprintf(name, CRD_CLASS_NAME_TEXT, "%s", crd_format_real(info->class_values[class], number));
}
