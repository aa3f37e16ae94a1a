# SPDX-License-Identifier: Apache-2.0
# One figure over a size, several curves; filled marks and solid lines are AFTER, open and dashed BEFORE.
# Blocks of columns: x, value, low, high. Variables: curves, title0…, colour0…, before0… (0 or 1), limit (-1: unknown),
# lowest and highest of the values and intervals
load "style.gp"
nth(what, i) = value(sprintf("%s%d", what, i))
dash(i) = nth("before",i) ? 2 : 1
array open_mark[8] = [6, 4, 8, 10, 12, 14, 1, 1]
set logscale x 2
set xtics ("16 B" 16, "256 B" 256, "4 KiB" 4096, "64 KiB" 65536, "1 MiB" 1048576, "16 MiB" 16777216, "256 MiB" 268435456, "4 GiB" 4294967296.0, "64 GiB" 68719476736.0)
set xrange [least/1.3:most*1.3]
if (logy) set logscale y 10; set yrange [lowest/1.3:highest*1.3]; else set yrange [0:(limit > highest ? limit : highest)*1.06]
set format y "%g"
set xlabel xname
set ylabel yname
lines = int((curves + (limit > 0) + legendcolumns - 1) / legendcolumns)
set key at screen 0.02,screen (16.0*lines+20)/height left top reverse Left vertical maxrows lines maxcols legendcolumns width 1 font small
set bmargin at screen (16.0*lines+68)/height
set style increment user
plot for [i=0:curves-1] data index i using 1:2:3:4 with yerrorlines linecolor rgb colour[nth("colour",i)] pointtype (nth("before",i) ? open_mark[nth("colour",i)] : mark[nth("colour",i)]) pointsize 0.55 dashtype dash(i) title nth("title",i), \
     (limit > 0 ? limit : NaN) with lines linecolor rgb ink dashtype 4 linewidth 1 title (limit > 0 ? limitname : "")
