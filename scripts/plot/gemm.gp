# SPDX-License-Identifier: Apache-2.0
# A GEMM's rate, round by round, above the clock, power and temperature it had.
# Blocks (BEFORE, AFTER) of columns: round, rate, SM clock (MHz), power (W), temperature (C)
load "style.gp"
array axis[4] = [unit, "SM, MHz", "W", "deg C"]
nth(what, i) = value(sprintf("%s%d", what, i))
set multiplot layout 4,1 margins 0.15,0.97,0.09,0.94 spacing 0.03
set xtics 1, (most > 14 ? 4 : 2)
set xrange [0.5:most+0.5]
set format x ""
set offsets 0, 0, graph 0.25, graph 0.15
do for [panel=0:3] {
    if (panel == 3) { set format x "%g"; set xlabel "round" }
    set ylabel axis[panel+1]
    if (panel == 0) { set key outside above horizontal } else { set key off }
    set ytics autofreq
    if (panel == 0 && limit > 0) { set label 1 sprintf("limit %.4g", limit) at graph 0.99,0.93 right textcolor rgb ink font tiny } else { unset label 1 }
    plot for [i=0:curves-1] data index i using 1:(column(panel+2)) with linespoints linecolor rgb colour[nth("colour",i)] pointtype (nth("before",i) ? 6 : 7) dashtype (nth("before",i) ? 2 : 1) pointsize 0.5 title nth("title",i), NaN notitle
}
unset multiplot
