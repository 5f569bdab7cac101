# One variant as rows of a Markdown table, one a test sample: means over the CSV files of its seeds and, from two seeds on,
# the standard deviation between them.
#
#   awk -v variant=filters-8 -f variants.awk filters-8-seed1.csv ...
function mean(sample, column,    n, average, spread) {
    n = count[sample, column]
    if (n == 0) return "n/a"
    average = sum[sample, column] / n
    if (n == 1) return sprintf("%.4f", average)
    spread = squares[sample, column] / n - average * average
    return sprintf("%.4f ± %.4f", average, spread > 0 ? sqrt(spread * n / (n - 1)) : 0)
}
{ n = split($0, field, ",") }
FNR == 1 { for (i = 1; i <= n; i++) name[i] = field[i]; next }
{
    if (!(field[1] in known)) { known[field[1]]; order[++samples] = field[1] }
    for (i = 3; i <= n; i++) {
        if (field[i] == "") continue
        count[field[1], name[i]]++
        sum[field[1], name[i]] += field[i]
        squares[field[1], name[i]] += field[i] * field[i]
    }
}
END {
    print "| variant | sample | accuracy | mean uncertainty | P(A\\|C) | P(U\\|I) | PAvPU3D | ECE | NLL |"
    for (i = 1; i <= samples; i++)
        printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", variant, order[i], mean(order[i], "accuracy"),
            mean(order[i], "uncertainty_mean"), mean(order[i], "p_accurate_given_certain"),
            mean(order[i], "p_uncertain_given_inaccurate"), mean(order[i], "pavpu3d"), mean(order[i], "ece"),
            mean(order[i], "nll")
}
