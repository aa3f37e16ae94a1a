# SPDX-License-Identifier: Apache-2.0
# Latency over idle time, both logarithmic; as sweep.gp otherwise.
load "style.gp"
set logscale xy 10
set xlabel xname
set ylabel yname
set format x "%g"
set format y "%g"
if (keyright) set key bottom right reverse Left; else set key top left reverse Left
set xrange [least/1.6:most*1.6]
array open_mark[8] = [6, 4, 8, 10, 12, 65, 66, 67]
nth(what, i) = value(sprintf("%s%d", what, i))
plot for [i=0:curves-1] data index i using 1:2:3:4 with yerrorlines linecolor rgb colour[nth("colour",i)] pointtype (nth("before",i) ? open_mark[nth("colour",i)] : mark[nth("colour",i)]) pointsize 0.6 dashtype (nth("before",i) ? 2 : 1) title nth("title",i)
