# SPDX-License-Identifier: Apache-2.0
# A heat map: rows are sources, columns destinations. Columns: column, row, value, text, second line, 1 where the ground is dark;
# a row with column -1 names a row, one with row -1 a column.
load "style.gp"
# Cividis; bright is better, so that it turns round where lower is.
if (higher) set palette defined (0 "#00204D", 0.25 "#414D6B", 0.5 "#7C7B78", 0.75 "#BCAF6F", 1 "#FFEA46"); else set palette defined (0 "#FFEA46", 0.25 "#BCAF6F", 0.5 "#7C7B78", 0.75 "#414D6B", 1 "#00204D")
set palette maxcolors 64
set cbrange [least:most]
set xrange [-1.45:columns-0.5]
set yrange [rows-0.4:-1.05]
unset xtics
unset ytics
unset border
unset grid
set lmargin 1
set bmargin 2
set tmargin 1
set rmargin 11
set colorbox user origin 0.845,0.2 size 0.03,0.6
set cblabel unit textcolor rgb ink offset 0.3,0
set cbtics textcolor rgb ink format "%.4g"
set xlabel heading offset 0,1
set style fill solid 1.0 noborder
size = rows > 5 || columns > 5 ? 10 : 12
plot data using ($1 >= 0 && $2 >= 0 ? $1 : NaN):2:(0.48):(0.47):3 with boxxyerror fillcolor palette notitle, \
     data using ($1 >= 0 && $2 >= 0 && $6 == 1 ? $1 : NaN):($2-0.13):4 with labels font (size == 10 ? tiny : small) textcolor rgb "#fffffe" notitle, \
     data using ($1 >= 0 && $2 >= 0 && $6 == 0 ? $1 : NaN):($2-0.13):4 with labels font (size == 10 ? tiny : small) textcolor rgb "#000001" notitle, \
     data using ($1 >= 0 && $2 >= 0 && $6 == 1 ? $1 : NaN):($2+0.2):5 with labels font tiny textcolor rgb "#fffffe" notitle, \
     data using ($1 >= 0 && $2 >= 0 && $6 == 0 ? $1 : NaN):($2+0.2):5 with labels font tiny textcolor rgb "#000001" notitle, \
     data using ($1 == -1 ? -0.58 : NaN):2:4 with labels right font (size == 10 ? tiny : small) textcolor rgb ink notitle, \
     data using ($2 == -1 ? $1 : NaN):(-0.72):4 with labels font (size == 10 ? tiny : small) textcolor rgb ink notitle
