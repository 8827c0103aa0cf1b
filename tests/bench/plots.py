# SPDX-License-Identifier: Apache-2.0
"""SVG plots by gnuplot; without it they are left out."""

import shutil
import subprocess

HEAD = """set terminal svg size 760,460 background rgb 'white' font 'sans-serif,13'
set output '{out}'
set grid lc rgb '#dddddd'
set border 3 lc rgb '#888888'
set tics nomirror
"""
COLOURS = ["#0b6e4f", "#c0392b", "#d98e04", "#34568b"]


def have_gnuplot():
    return shutil.which("gnuplot") is not None


def draw(path, script, series):
    """series: [(title, [(x, y)])], as inline data $d0, $d1, …"""
    data = "".join(f"$d{i} << EOD\n" + "".join(f"{x} {y}\n" for x, y in points) + "EOD\n"
                   for i, (_, points) in enumerate(series))
    subprocess.run(["gnuplot"], input=data + HEAD.format(out=path) + script, text=True,
                   check=True, timeout=60)


def lines(series, style="linespoints pt 7 ps 0.6"):
    return "plot " + ", ".join(
        f"$d{i} using 1:2 with {style} lw 2 lc rgb '{COLOURS[i]}' title '{title}'"
        for i, (title, _) in enumerate(series)) + "\n"


def goodput(path, curves):
    """curves: {plane name: [{"offered", "goodput"}]}"""
    series = [(name, [(p["offered"], p["goodput"]) for p in points])
              for name, points in curves.items() if points]
    draw(path, """set title 'Answered in time (patience 1 s) against offered load'
set xlabel 'offered, multiples of capacity'
set ylabel 'answered in time, multiples of capacity'
set logscale x
set xtics (0.5, 0.75, 1, 1.3, 2, 3, 5, 10)
set xrange [0.45:11]
set yrange [0:1.15]
set key below
""" + lines(series), series)


def pause(path, runs, stop, cont):
    """runs: {plane name: the series of its S1 run}"""
    series = [(name, [(s["t"] + 0.5, 100.0 * s["ok"] / s["due"]) for s in rows if s["due"]])
              for name, rows in runs.items()]
    draw(path, f"""set title '0.75 of capacity, process stopped for {cont - stop:g} s'
set xlabel 'second in which the request was sent'
set ylabel 'answered in time, %'
set yrange [0:105]
set key below
set object 1 rect from {stop},0 to {cont},105 fc rgb '#eeeeee' fs solid noborder behind
set label 'stopped' at {stop + 0.2},100
""" + lines(series), series)


def age(path, runs):
    """runs: {plane name: the series of a run past capacity}"""
    series = [(name, [(s["t"] + 0.5, s["oldest_s"]) for s in rows if s["due"]])
              for name, rows in runs.items()]
    draw(path, """set title 'How long what is answered has waited, at 1.3 of capacity'
set xlabel 'second of the run'
set ylabel 'greatest age of an answer, s'
set yrange [0:*]
set key below
set arrow from graph 0,first 1 to graph 1,first 1 nohead dt 2 lc rgb '#888888'
set label 'clients wait 1 s' at graph 0.02,first 1 offset 0,0.6
""" + lines(series), series)


def shares(path, tenants):
    """tenants: {plane name: (what A got, what B got), each in parts of its fair share}"""
    names = list(tenants)
    series = [("tenant A: asks for 10 times its share", [(i, tenants[n][0]) for i, n in enumerate(names)]),
              ("tenant B: asks for 0.8 of its share", [(i, tenants[n][1]) for i, n in enumerate(names)])]
    tics = ", ".join(f"'{n}' {i}" for i, n in enumerate(names))
    draw(path, f"""set title 'What two tenants get, in parts of their fair share'
set ylabel 'answered in time / fair share'
set yrange [0:1.5]
set xrange [-0.6:{len(names) - 0.4}]
set xtics ({tics})
set style fill solid
set key below
set arrow from graph 0,first 1 to graph 1,first 1 nohead dt 2 lc rgb '#888888'
plot $d0 using ($1-0.18):2:(0.32) with boxes lc rgb '{COLOURS[1]}' title '{series[0][0]}', \
     $d1 using ($1+0.18):2:(0.32) with boxes lc rgb '{COLOURS[0]}' title '{series[1][0]}'
""", series)


def bars(path, rows):
    """rows: [(label, times better than nats-server)]"""
    series = [("", [(i, f'{v:.3g} "{label}"') for i, (label, v) in enumerate(rows)])]
    draw(path, """set title 'Sluice against nats-server: how many times better'
set boxwidth 0.6
set style fill solid
set yrange [0:*]
set xtics rotate by 35 right
set bmargin 7
unset key
plot $d0 using 1:2:xtic(3) with boxes lc rgb '#0b6e4f', 1 with lines lc rgb '#c0392b' dt 2, \
     $d0 using 1:2:(sprintf('%.1f', $2)) with labels offset 0,0.7
""", series)
