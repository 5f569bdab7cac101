/* What the values of labels mean: two classes or many. */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/monitor.h"
#include "chunk/label_file.h"
#include "credence/number.h"

static void list_values(const double *values, int64_t count, char *text, size_t size)
{
    size_t used = 0;
    char number[CRD_NUMBER_BYTES];
    text[0] = '\0';
    for (int64_t i = 0; i < count && i < 12 && used < size; i++) {
        const int wrote =
            snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", crd_format_real(values[i], number));
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    if (count > 12 && used < size) snprintf(text + used, size - used, ", ...");
}

static bool holds(const crd_value_set *met, double value)
{
    const int64_t at = crd_value_place(met, value);
    return at < met->count && met->values[at] == value;
}

static bool listed(const double *values, int64_t count, double value)
{
    for (int64_t i = 0; i < count; i++) {
        if (values[i] == value) return true;
    }
    return false;
}

/* Adds the values of a label that mean something, and refuses a third: nobody said which of them is the foreground. */
static crd_status join_values(const crd_label *label, const crd_label_options *options, crd_value_set *all)
{
    int64_t own = 0;
    char text[256];
    for (int64_t i = 0; i < label->met.count; i++) {
        const double value = label->met.values[i];
        if (listed(options->ignore, options->ignore_count, value)) continue;
        own++;
        if (!holds(all, value) && all->count < CRD_LABEL_VALUES_MAX)
            crd_value_insert(all, crd_value_place(all, value), value);
    }
    if (all->count <= 2) return CRD_OK;
    if (own > 2) {
        list_values(label->met.values, label->met.count, text, sizeof text);
    } else {
        list_values(all->values, all->count, text, sizeof text);
    }
    return crd_fail(CRD_ERR_ARGUMENT,
                    "the label %s has the values %s%s; say which are the foreground (--foreground V[,V...]) and which "
                    "mean \"not labelled\" (--ignore V)",
                    label->path, text, own > 2 ? "" : " together with the labels before it");
}

static void warn_of_one_value(crd_label *const *labels, int64_t count, double value, const crd_monitor *monitor)
{
    char number[CRD_NUMBER_BYTES], others[64] = "";
    if (count > 1) {
        snprintf(others, sizeof others, " and %lld other%s)", (long long)(count - 1), count > 2 ? "s" : "");
    }
    crd_warn(monitor,
             "the only value in the label%s%s%s, apart from what is ignored, is %s: it is taken for the foreground; "
             "if it is the background, give --foreground with the value that would be the foreground",
             count > 1 ? "s (" : " ", labels[0]->path, others, crd_format_real(value, number));
}

/* The larger of two values in all labels together: a file of one value can't say what that one means. */
static crd_status find_foreground(crd_label *const *labels, int64_t count, const crd_label_options *options,
                                  const crd_monitor *monitor, crd_value_set *foreground)
{
    crd_value_set all = {0};
    for (int64_t i = 0; i < count; i++) CRD_PASS(join_values(labels[i], options, &all));
    if (all.count == 0 || (all.count == 1 && all.values[0] == 0.0)) return CRD_OK;
    crd_value_insert(foreground, 0, all.values[all.count - 1]);
    if (all.count == 1) warn_of_one_value(labels, count, all.values[0], monitor);
    return CRD_OK;
}

/* A scan may well have nothing of what is looked for, but a value that no label has is likely a wrong one. */
static crd_status check_foreground(crd_label *const *labels, int64_t count, const crd_label_options *options,
                                   const crd_monitor *monitor)
{
    char text[256], number[CRD_NUMBER_BYTES];
    for (int64_t k = 0; k < options->foreground_count; k++) {
        bool found = !options->needed;
        for (int64_t i = 0; i < count && !found; i++) found = holds(&labels[i]->met, options->foreground[k]);
        if (found) continue;
        list_values(labels[0]->met.values, labels[0]->met.count, text, sizeof text);
        return crd_fail(CRD_ERR_ARGUMENT, "the label %s has no voxel of the foreground value %s%s; it has %s",
                        labels[0]->path, crd_format_real(options->foreground[k], number),
                        count > 1 ? ", nor has any other" : "", text);
    }
    for (int64_t i = 0; i < count; i++) {
        bool found = false;
        for (int64_t k = 0; k < options->foreground_count; k++) found |= holds(&labels[i]->met, options->foreground[k]);
        if (found) continue;
        list_values(labels[i]->met.values, labels[i]->met.count, text, sizeof text);
        crd_warn(monitor, "the label %s has no foreground: its values are %s", labels[i]->path, text);
    }
    return CRD_OK;
}

/* The classes of all values that aren't ignored; `number` gives that of a value. */
typedef uint8_t class_number(const crd_label_classes *classes, const double *foreground, int64_t count, double value);

static uint8_t is_foreground(const crd_label_classes *classes, const double *foreground, int64_t count, double value)
{
    (void)classes;
    return listed(foreground, count, value);
}

static uint8_t place_among(const crd_label_classes *classes, const double *foreground, int64_t count, double value)
{
    (void)foreground;
    (void)count;
    uint8_t class = 0;
    while (class < classes->count && classes->values[class] != value) class ++;
    return class;
}

static void assign_classes(crd_label *label, const crd_label_options *options, const crd_label_classes *classes,
                           class_number *number, const double *foreground, int64_t count)
{
    label->meaning = *classes;
    label->unlabelled = 0;
    memset(label->counts, 0, sizeof label->counts);
    for (int64_t i = 0; i < label->met.count; i++) {
        const double value = label->met.values[i];
        const bool ignored = listed(options->ignore, options->ignore_count, value);
        label->classes[i] = ignored ? CRD_LABEL_NONE : number(classes, foreground, count, value);
        *(ignored ? &label->unlabelled : &label->counts[label->classes[i]]) += label->voxels[i];
    }
}

enum { SHARE_TEXT = 40, REST_TEXT = SHARE_TEXT + 24 };

/* "16.9 %", or the number of voxels where that would be nothing. */
static const char *share_text(int64_t voxels, double total, char text[SHARE_TEXT])
{
    const double percent = 100.0 * (double)voxels / total;
    if (voxels > 0 && percent < 0.05) {
        snprintf(text, SHARE_TEXT, "%" PRId64 " voxel%s", voxels, voxels == 1 ? "" : "s");
    } else {
        snprintf(text, SHARE_TEXT, "%.1f %%", percent);
    }
    return text;
}

/* What follows on the classes' shares: nothing where every voxel has a label. */
static const char *unlabelled_text(const crd_label *label, double total, char text[REST_TEXT])
{
    char share[SHARE_TEXT];
    text[0] = '\0';
    if (label->unlabelled > 0)
        snprintf(text, REST_TEXT, "; %s without a label", share_text(label->unlabelled, total, share));
    return text;
}

static void say_what_was_understood(const crd_label *label, const double *foreground, int64_t count,
                                    const crd_monitor *monitor)
{
    const double total = (double)(label->counts[0] + label->counts[1] + label->unlabelled);
    char text[256], of[2][SHARE_TEXT], rest[REST_TEXT];
    list_values(foreground, count, text, sizeof text);
    crd_info(monitor, "label %s: foreground is %s; %s foreground, %s background%s", label->path,
             count > 0 ? text : "nowhere", share_text(label->counts[1], total, of[0]),
             share_text(label->counts[0], total, of[1]), unlabelled_text(label, total, rest));
}

/* Every value that occurs and isn't ignored must be one of the classes. */
static crd_status check_values(const crd_label *label, const crd_label_options *options,
                               const crd_label_classes *classes)
{
    char text[256], number[CRD_NUMBER_BYTES];
    list_values(classes->values, classes->count, text, sizeof text);
    for (int64_t i = 0; i < label->met.count; i++) {
        const double value = label->met.values[i];
        if (listed(options->ignore, options->ignore_count, value) || listed(classes->values, classes->count, value))
            continue;
        return crd_fail(
            CRD_ERR_ARGUMENT,
            "the label %s has voxels of the value %s, which is none of the classes %s; add it to --classes, "
            "or say that it means \"not labelled\" (--ignore %s)",
            label->path, crd_format_real(value, number), text, number);
    }
    return CRD_OK;
}

static crd_status check_class_occurs(crd_label *const *labels, int64_t count, double value)
{
    char text[256], number[CRD_NUMBER_BYTES];
    for (int64_t i = 0; i < count; i++)
        if (holds(&labels[i]->met, value)) return CRD_OK;
    list_values(labels[0]->met.values, labels[0]->met.count, text, sizeof text);
    return crd_fail(CRD_ERR_ARGUMENT, "the label %s has no voxel of the class %s%s; it has %s", labels[0]->path,
                    crd_format_real(value, number), count > 1 ? ", nor has any other" : "", text);
}

static void say_classes(const crd_label *label, const crd_monitor *monitor)
{
    char text[1024], number[CRD_NUMBER_BYTES], share[SHARE_TEXT], rest[REST_TEXT];
    size_t used = 0;
    double total = (double)label->unlabelled;
    for (int c = 0; c < label->meaning.count; c++) total += (double)label->counts[c];
    for (int c = 0; c < label->meaning.count && used < sizeof text; c++) {
        const int wrote =
            snprintf(text + used, sizeof text - used, "%s%s (%s)", c > 0 ? ", " : "",
                     crd_format_real(label->meaning.values[c], number), share_text(label->counts[c], total, share));
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    crd_info(monitor, "label %s: %d classes, %s%s", label->path, label->meaning.count, text,
             unlabelled_text(label, total, rest));
}

/* One value, one class. */
static crd_status decide_by_values(crd_label *const *labels, int64_t count, const crd_label_options *options,
                                   const crd_label_classes *classes, const crd_monitor *monitor)
{
    for (int c = 0; c < classes->count && options->needed; c++)
        CRD_PASS(check_class_occurs(labels, count, classes->values[c]));
    for (int64_t i = 0; i < count; i++) {
        CRD_PASS(check_values(labels[i], options, classes));
        assign_classes(labels[i], options, classes, place_among, NULL, 0);
        say_classes(labels[i], monitor);
    }
    return CRD_OK;
}

static crd_status take_given_classes(const crd_label_options *options, crd_label_classes *classes)
{
    char number[CRD_NUMBER_BYTES];
    if (options->foreground_count > 0)
        return crd_fail(CRD_ERR_ARGUMENT, "--classes and --foreground both say what the label's values mean: give one");
    if (options->class_count < 2 || options->class_count > CRD_CLASSES_MAX)
        return crd_fail(CRD_ERR_ARGUMENT, "--classes must name 2 to %d values, not %" PRId64, (int)CRD_CLASSES_MAX,
                        options->class_count);
    for (int64_t i = 0; i < options->class_count; i++) {
        const double value = options->classes[i];
        if (listed(options->classes, i, value) || listed(options->ignore, options->ignore_count, value))
            return crd_fail(CRD_ERR_ARGUMENT, "the value %s stands twice in --classes and --ignore",
                            crd_format_real(value, number));
        classes->values[classes->count++] = value;
    }
    return CRD_OK;
}

/* Programs that paint labels leave 0 where nobody looked. Labels of phases may have it as well: a hint, no warning. */
static void hint_at_zero(crd_label *const *labels, int64_t count, const crd_monitor *monitor)
{
    double zero = 0.0, all = 0.0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < labels[i]->met.count; k++) {
            all += (double)labels[i]->voxels[k];
            if (labels[i]->met.values[k] == 0.0) zero += (double)labels[i]->voxels[k];
        }
    if (zero > 0.5 * all)
        crd_info(monitor,
                 "0 is taken for a class, and most voxels have it: if it means \"not labelled\", give --ignore 0");
}

/* All values that occur, where they are more than two and that is allowed; else none. */
static crd_status find_classes(crd_label *const *labels, int64_t count, const crd_label_options *options,
                               const crd_monitor *monitor, crd_label_classes *classes)
{
    crd_value_set all = {0};
    bool complete = true;
    char text[256];
    for (int64_t i = 0; i < count; i++) {
        for (int64_t k = 0; k < labels[i]->met.count; k++) {
            const double value = labels[i]->met.values[k];
            if (listed(options->ignore, options->ignore_count, value) || holds(&all, value)) continue;
            complete = complete && all.count < CRD_LABEL_VALUES_MAX;
            if (complete) crd_value_insert(&all, crd_value_place(&all, value), value);
        }
    }
    if (all.count <= 2 || options->classes_most <= 2) return CRD_OK;
    if (all.count > options->classes_most) {
        list_values(all.values, all.count, text, sizeof text);
        return crd_fail(
            CRD_ERR_ARGUMENT,
            "the label%s %s %s %s%" PRId64 " different values (%s), and a network can tell %d classes apart; "
            "say which values are classes (--classes V,V,...) or the foreground (--foreground V[,V...]), and "
            "which mean \"not labelled\" (--ignore V)",
            count > 1 ? "s of" : "", labels[0]->path, count > 1 ? "and the others have" : "has",
            complete ? "" : "more than ", all.count, text, (int)CRD_CLASSES_MAX);
    }
    for (int64_t i = 0; i < all.count; i++) classes->values[classes->count++] = all.values[i];
    if (all.values[all.count - 1] == 255 && all.values[all.count - 2] <= (double)(all.count - 1))
        crd_warn(monitor,
                 "255 is taken for a class of its own, beside %d small numbers: if it means \"not labelled\", give "
                 "--ignore 255",
                 (int)all.count - 1);
    if (!listed(options->ignore, options->ignore_count, 0.0)) hint_at_zero(labels, count, monitor);
    return CRD_OK;
}

/* The first value of the background and of the foreground. */
static crd_label_classes two_classes(crd_label *const *labels, int64_t count, const crd_label_options *options,
                                     const double *foreground, int64_t foreground_count)
{
    crd_label_classes classes = {.count = 2, .values = {0, foreground_count > 0 ? foreground[0] : 1}};
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < labels[i]->met.count; k++) {
            const double value = labels[i]->met.values[k];
            if (listed(options->ignore, options->ignore_count, value) || listed(foreground, foreground_count, value))
                continue;
            classes.values[0] = value;
            return classes;
        }
    return classes;
}

crd_status crd_label_decide(crd_label *const *labels, int64_t count, const crd_label_options *options,
                            const crd_monitor *monitor)
{
    crd_value_set found = {0};
    crd_label_classes classes = {0};
    const bool chosen = options->foreground_count > 0;
    if (options->class_count > 0)
        CRD_PASS(take_given_classes(options, &classes));
    else if (!chosen)
        CRD_PASS(find_classes(labels, count, options, monitor, &classes));
    if (classes.count > 0) return decide_by_values(labels, count, options, &classes, monitor);
    CRD_PASS(chosen ? check_foreground(labels, count, options, monitor)
                    : find_foreground(labels, count, options, monitor, &found));
    const double *foreground = chosen ? options->foreground : found.values;
    const int64_t foreground_count = chosen ? options->foreground_count : found.count;
    classes = two_classes(labels, count, options, foreground, foreground_count);
    for (int64_t i = 0; i < count; i++) {
        assign_classes(labels[i], options, &classes, is_foreground, foreground, foreground_count);
        say_what_was_understood(labels[i], foreground, foreground_count, monitor);
    }
    return CRD_OK;
}
