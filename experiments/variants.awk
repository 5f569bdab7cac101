# One variant of the ablation as rows of a Markdown table, one a test sample: means over the CSV files of its seeds.
#
#   awk -v variant=filters-8 -f variants.awk filters-8-seed1.csv ...
function mean(sample, column) {
    return count[sample, column] ? sprintf("%.4f", sum[sample, column] / count[sample, column]) : "n/a"
}
{ n = split($0, field, ",") }
FNR == 1 { for (i = 1; i <= n; i++) name[i] = field[i]; next }
{
    if (!(field[1] in known)) { known[field[1]]; order[++samples] = field[1] }
    for (i = 3; i <= n; i++) {
        if (field[i] == "") continue
        count[field[1], name[i]]++
        sum[field[1], name[i]] += field[i]
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
