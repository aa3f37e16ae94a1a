# SPDX-License-Identifier: Apache-2.0
# What all plots share. Each script of this folder draws NAME.tsv with the variables of NAME.var:
#   gnuplot -e "name='sweep-copy-h2d'" sweep.gp                    NAME.svg
#   gnuplot -e "name='sweep-copy-h2d'; format='png'" sweep.gp      NAME.png
# The colours are Okabe and Ito's, told apart by every kind of colour vision; marks and dashes differ as well.
if (!exists("format")) format = "svg"
width = 460
height = 300
note = ""
load name.".var"
data = name.".tsv"
ink = "#404040"
grid_rgb = "#d0d0d0"
band_rgb = "#e8e8e8"
array colour[8] = ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#948A00", "#777777"]
array mark[8] = [7, 5, 9, 11, 13, 15, 2, 3]
small = format eq "png" ? ",20" : ",11"
tiny = format eq "png" ? ",17" : ",9.5"
set encoding utf8
if (format eq "png") set terminal pngcairo noenhanced size 2*width,2*height fontscale 1.0 linewidth 2 pointscale 2 font "sans,22"; else set terminal svg noenhanced size width,height dynamic font "sans-serif,12" linewidth 1.3
set output name.".".format
set datafile separator "\t"
set datafile commentschars ""
set datafile missing "?"
set border 3 linecolor rgb ink
set tics nomirror scale 0.4 textcolor rgb ink
set grid linecolor rgb grid_rgb linewidth 0.6 linetype 1 dashtype solid
set key textcolor rgb ink samplen 1.6 spacing 1.0
set xlabel textcolor rgb ink offset 0,0.4
set ylabel textcolor rgb ink offset 1,0
set title textcolor rgb ink
if (note ne "") set label 99 note at screen 0.985,screen 8.0/height right textcolor rgb ink font tiny
