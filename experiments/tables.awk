# The paper's table with ours beside it, as Markdown: paper.txt, then the CSV files of units (one a kind and seed).
# Ours is the mean over the seeds and, from two seeds on, the standard deviation between them.
#
#   awk -v unit=1e-2 -f tables.awk paper.txt bcnn-seed1.csv ...
function cell(sample, kind, column, scale, format,    key, n, mean, spread) {
    key = sample SUBSEP kind SUBSEP column
    n = count[key]
    if (n == 0) return "n/a"
    mean = sum[key] / n
    if (n == 1) return sprintf(format, mean / scale)
    spread = squares[key] / n - mean * mean
    spread = spread > 0 ? sqrt(spread * n / (n - 1)) : 0
    return sprintf(format " ± " format, mean / scale, spread / scale)
}
function mean_of(sample, kind, column,    key) {
    key = sample SUBSEP kind SUBSEP column
    return count[key] > 0 ? sum[key] / count[key] : ""
}
# How often the BCNN is ahead, of the samples for which both kinds have the figure.
function ahead(column, higher,    i, a, b, wins, all) {
    for (i = 1; i <= samples; i++) {
        a = mean_of(order[i], "bcnn", column)
        b = mean_of(order[i], "mcdn", column)
        if (a == "" || b == "") continue
        all++
        if (higher ? a > b : a < b) wins++
    }
    return all ? wins + 0 " of " all : "n/a"
}
function paper_ahead(field,    i, wins) {
    for (i = 1; i <= samples; i++)
        if (paper[order[i], "bcnn", field] > paper[order[i], "mcdn", field]) wins++
    return wins + 0 " of " samples
}
FNR == 1 { file++ }
file == 1 {
    if ($1 == "#") next
    if (!($1 in known)) { known[$1]; order[++samples] = $1 }
    for (i = 3; i <= 7; i++) paper[$1, $2, i] = $i
    next
}
{ n = split($0, field, ",") }
FNR == 1 { for (i = 1; i <= n; i++) name[i] = field[i]; next }
{
    for (i = 3; i <= n; i++) {
        if (field[i] == "") continue
        key = field[1] SUBSEP field[2] SUBSEP name[i]
        count[key]++
        sum[key] += field[i]
        squares[key] += field[i] * field[i]
    }
}
END {
    split("mcdn bcnn", kinds, " ")
    printf "| sample | kind | accuracy, paper | ours | UQ mean / %s, paper | ours | P(A\\|C), paper | ours | P(U\\|I), paper | ours | PAvPU3D, paper | ours |\n", unit
    print "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for (i = 1; i <= samples; i++)
        for (k = 1; k <= 2; k++)
            printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", order[i], toupper(kinds[k]),
                paper[order[i], kinds[k], 3], cell(order[i], kinds[k], "accuracy", 1, "%.4f"),
                paper[order[i], kinds[k], 4], cell(order[i], kinds[k], "uncertainty_mean", unit + 0, "%.3f"),
                paper[order[i], kinds[k], 5], cell(order[i], kinds[k], "p_accurate_given_certain", 1, "%.4f"),
                paper[order[i], kinds[k], 6], cell(order[i], kinds[k], "p_uncertain_given_inaccurate", 1, "%.4f"),
                paper[order[i], kinds[k], 7], cell(order[i], kinds[k], "pavpu3d", 1, "%.4f")
    print "\n| sample | kind | Dice | ECE | Brier | NLL | AURC | autocorrelation | gradient / mean |"
    print "|---|---|---|---|---|---|---|---|---|"
    for (i = 1; i <= samples; i++)
        for (k = 1; k <= 2; k++)
            printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", order[i], toupper(kinds[k]),
                cell(order[i], kinds[k], "dice", 1, "%.4f"), cell(order[i], kinds[k], "ece", 1, "%.4f"),
                cell(order[i], kinds[k], "brier", 1, "%.4f"), cell(order[i], kinds[k], "nll", 1, "%.4f"),
                cell(order[i], kinds[k], "aurc", 1, "%.4f"), cell(order[i], kinds[k], "autocorrelation", 1, "%.3f"),
                cell(order[i], kinds[k], "gradient_over_mean", 1, "%.3f")
    print "\nSamples on which the BCNN is ahead of the MCDN (higher, for ECE, Brier, NLL and AURC lower; mean over seeds):\n"
    print "| figure | paper | ours |"
    print "|---|---|---|"
    printf "| accuracy | %s | %s |\n", paper_ahead(3), ahead("accuracy", 1)
    printf "| UQ mean (larger) | %s | %s |\n", paper_ahead(4), ahead("uncertainty_mean", 1)
    printf "| P(A\\|C) | %s | %s |\n", paper_ahead(5), ahead("p_accurate_given_certain", 1)
    printf "| P(U\\|I) | %s | %s |\n", paper_ahead(6), ahead("p_uncertain_given_inaccurate", 1)
    printf "| PAvPU3D | %s | %s |\n", paper_ahead(7), ahead("pavpu3d", 1)
    split("ece brier nll aurc", lower, " ")
    for (i = 1; i <= 4; i++) printf "| %s | n/a | %s |\n", (lower[i] == "brier" ? "Brier" : toupper(lower[i])), ahead(lower[i], 0)
}
