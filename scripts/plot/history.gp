# SPDX-License-Identifier: Apache-2.0
# Trends, one panel a series: the median of each run and the middle half of its rounds, over runs in their order.
# Blocks of columns: run, median, low, high. Variables: panels, title0…, unit0…
load "style.gp"
nth(what, i) = value(sprintf("%s%d", what, i))
set multiplot layout panels,1 margins 0.14,0.97,58.0/height,1-22.0/height spacing 0,34.0/height
set xrange [0.5:most+0.5]
set format x ""
# Three or four tics a panel: 1, 2 or 5 times a power of ten.
decade(x) = 10**floor(log10(x))
step(x) = x/decade(x) < 2 ? decade(x) : x/decade(x) < 5 ? 2*decade(x) : 5*decade(x)
set format y "%g"
set title offset 0,-0.8 font small
do for [i=0:panels-1] {
    if (i > 0) { unset label 99 }
    if (i == panels-1) { set format x "%g"; set xlabel "run, in order of time" }
    set title nth("title",i)
    set ylabel nth("unit",i)
    set yrange [*:*] # stats keeps to it
    stats data index i using 3 nooutput name "L"
    stats data index i using 4 nooutput name "H"
    span = H_max - L_min > 0.01*abs(H_max) ? H_max - L_min : 0.01*abs(H_max) + 1e-9
    set yrange [L_min-0.1*span:L_min+1.1*span]
    set ytics step(span/2.0)
    plot data index i using 1:3:4 with filledcurves linecolor rgb band_rgb notitle, \
         data index i using 1:2 with lines linecolor rgb colour[1] notitle
}
unset multiplot
