# SPDX-License-Identifier: Apache-2.0
# A GEMM's rate, round by round, above the clock, power and temperature it had.
# Blocks (BEFORE, AFTER) of columns: round, rate, SM clock (MHz), power (W), temperature (C)
load "style.gp"
array axis[4] = [unit, "SM, MHz", "W", "deg C"]
nth(what, i) = value(sprintf("%s%d", what, i))
dash(i) = nth("before",i) ? 2 : 1
# Three or four tics a panel: 1, 2 or 5 times a power of ten.
decade(x) = 10**floor(log10(x))
step(x) = x/decade(x) < 2 ? decade(x) : x/decade(x) < 5 ? 2*decade(x) : 5*decade(x)
set multiplot layout 4,1 margins 0.15,0.97,0.12,0.94 spacing 0.03
set xtics 1, (most > 14 ? 4 : 2)
set xrange [0.5:most+0.5]
set format x ""
set format y "%g"
do for [panel=0:3] {
    set yrange [*:*] # stats keeps to it
    low = 1e300
    high = -1e300
    do for [i=0:curves-1] {
        stats data index i using (column(panel+2)) nooutput name "S"
        if (exists("S_records") && S_records > 0) { low = S_min < low ? S_min : low; high = S_max > high ? S_max : high }
    }
    if (low > high) { low = 0; high = 1 }
    span = high - low > 0.01*abs(high) ? high - low : 0.01*abs(high) + 1e-9
    set yrange [low-0.15*span:high+0.3*span]
    set ytics step(span/2.0)
    if (panel == 3) { set format x "%g"; set xlabel "round" }
    set ylabel axis[panel+1]
    if (panel == 0) { set key outside above horizontal } else { set key off }
    if (panel == 0 && limit > 0) { set label 1 sprintf("limit %.4g", limit) at graph 0.99,0.92 right textcolor rgb ink font tiny } else { unset label 1 }
    if (panel > 0) { unset label 99 }
    plot for [i=0:curves-1] data index i using 1:(column(panel+2)) with linespoints linecolor rgb colour[nth("colour",i)] pointtype (nth("before",i) ? 6 : 7) dashtype dash(i) pointsize 0.5 title nth("title",i), NaN notitle
}
unset multiplot
