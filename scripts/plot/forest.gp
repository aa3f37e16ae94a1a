# SPDX-License-Identifier: Apache-2.0
# Changes with their 95 % intervals, one row a series; the grey bar is what does not matter (delta).
# Columns: row, label, low, change, high, delta (all in per cent), kind (0 better, 1 worse, 2 same, 3 undecided, 4 not judged), text
load "style.gp"
array kind_colour[5] = [colour[3], colour[2], colour[1], colour[4], colour[8]]
array kind_mark[5] = [9, 11, 7, 6, 13]
array kind_name[5] = ["better", "worse", "same", "undecided", "not judged"]
set yrange [rows-0.4:-0.5]
set xrange [-reach:reach]
unset ytics
set border 1
set grid noytics
set xlabel heading
set format x "%.3g"
set xtics reach/2.0
set key above horizontal maxrows 1 width -1 height 0
set lmargin 2
set rmargin 2
set bmargin at screen 58.0/height
set tmargin 2
set style fill solid 1.0 noborder
plot data using (0):($1+0.22):(-$6 < -reach ? -reach : -$6):($6 > reach ? reach : $6):($1+0.08):($1+0.36) with boxxyerror linecolor rgb band_rgb notitle, \
     data using (0):($1+0.04):(0):(0.36) with vectors nohead linecolor rgb ink linewidth 0.8 notitle, \
     for [k in kinds] data using ($7 == k ? $4 : NaN):($1+0.22):3:5 with xerrorbars linecolor rgb kind_colour[k+1] pointtype kind_mark[k+1] pointsize 0.8 linewidth 1.6 notitle, \
     for [k in kinds] NaN with points linecolor rgb kind_colour[k+1] pointtype kind_mark[k+1] pointsize 0.8 title kind_name[k+1], \
     data using (-reach):($1-0.2):2 with labels left textcolor rgb ink font small notitle, \
     data using (reach):($1-0.2):8 with labels right textcolor rgb ink font small notitle
