# SPDX-License-Identifier: Apache-2.0
# Rounds in their order, each series in per cent of its own median, so that drift shows.
# Blocks of columns: round, per cent. Variables: curves, title0…
load "style.gp"
set xlabel "round"
set ylabel "% of the series' median"
set format y "%g"
set key at screen 0.02,screen (17.0*curves+18)/height left top reverse Left maxcols 1 font small
set bmargin at screen (17.0*curves+62)/height
set yrange [100-reach:100+reach]
set xtics 1, (most > 14 ? 4 : 2)
set xrange [0.5:most+0.5]
nth(what, i) = value(sprintf("%s%d", what, i))
plot 100 with lines linecolor rgb ink linewidth 0.8 notitle, \
     for [i=0:curves-1] data index i using 1:2 with linespoints linecolor rgb colour[i+1] pointtype mark[i+1] pointsize 0.5 linewidth 1.2 title nth("title",i)
