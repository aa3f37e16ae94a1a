# SPDX-License-Identifier: Apache-2.0
# One figure over a size, several curves; filled marks and solid lines are AFTER, open and dashed BEFORE.
# Blocks of columns: x, value, low, high. Variables: curves, title0…, colour0…, before0… (0 or 1), limit (-1: unknown)
load "style.gp"
set logscale x 2
set format x "%.0b %BB"
set xtics 256, 16
if (logy) set logscale y 10; else set yrange [0:*]
set xlabel xname
set ylabel yname
if (keyright) set key bottom right reverse Left; else set key top left reverse Left
set offsets 0, 0, graph 0.04, 0
array open_mark[8] = [6, 4, 8, 10, 12, 65, 66, 67]
nth(what, i) = value(sprintf("%s%d", what, i))
set style increment user
plot for [i=0:curves-1] data index i using 1:2:3:4 with yerrorlines linecolor rgb colour[nth("colour",i)] pointtype (nth("before",i) ? open_mark[nth("colour",i)] : mark[nth("colour",i)]) pointsize 0.55 dashtype (nth("before",i) ? 2 : 1) title nth("title",i), \
     (limit > 0 ? limit : NaN) with lines linecolor rgb ink dashtype 4 linewidth 1 title (limit > 0 ? limitname : "")
