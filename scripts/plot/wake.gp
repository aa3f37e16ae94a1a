# SPDX-License-Identifier: Apache-2.0
# Latency over idle time (or batch), both logarithmic; as sweep.gp otherwise.
load "style.gp"
nth(what, i) = value(sprintf("%s%d", what, i))
dash(i) = nth("before",i) ? 2 : 1
array open_mark[8] = [6, 4, 8, 10, 12, 14, 1, 1]
set logscale x 10
if (logy) set logscale y 10
set xlabel xname
set ylabel yname
set format x "%g"
set format y "%g"
set xrange [least/1.6:most*1.6]
if (logy) set yrange [lowest/1.3:highest*1.3]; else set yrange [0:highest*1.06]
lines = int((curves + legendcolumns - 1) / legendcolumns)
set key at screen 0.02,screen (16.0*lines+20)/height left top reverse Left vertical maxrows lines maxcols legendcolumns width 1 font small
set bmargin at screen (16.0*lines+68)/height
plot for [i=0:curves-1] data index i using 1:2:3:4 with yerrorlines linecolor rgb colour[nth("colour",i)] pointtype (nth("before",i) ? open_mark[nth("colour",i)] : mark[nth("colour",i)]) pointsize 0.6 dashtype dash(i) title nth("title",i)
