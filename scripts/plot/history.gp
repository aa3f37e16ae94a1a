# SPDX-License-Identifier: Apache-2.0
# Trends, one panel a series: the median of each run and the middle half of its rounds, over runs in their order.
# Blocks of columns: run, median, low, high. Variables: panels, title0…, unit0…
load "style.gp"
nth(what, i) = value(sprintf("%s%d", what, i))
set multiplot layout panels,1 margins 0.14,0.97,32.0/height,1-22.0/height spacing 0,34.0/height
set xrange [0.5:most+0.5]
set format x ""
set ytics autofreq
set title offset 0,-0.8 font small
do for [i=0:panels-1] {
    if (i > 0) { unset label 99 }
    if (i == panels-1) { set format x "%g"; set xlabel "run, in order of time" }
    set title nth("title",i)
    set ylabel nth("unit",i)
    plot data index i using 1:3:4 with filledcurves linecolor rgb band_rgb notitle, \
         data index i using 1:2 with lines linecolor rgb colour[1] notitle
}
unset multiplot
