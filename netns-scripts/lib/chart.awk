# Draws a chart as SVG from lines "SERIES<tab>X<tab>Y": a line with its points for each series, in
# the order of the input. If X is no number, the chart has bars, with one group for each X.
#   -v title=, xlabel=, ylabel=   what is written
#   -v logx=1, logy=1             logarithmic axes; an X of 0 stands where 0.5 would

function number(text) { return text ~ /^-?[0-9.]+(e-?[0-9]+)?$/ }
function log10(v) { return log(v) / log(10) }
function escape(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); return text }
function at_x(v) { if (logx) v = log10(v > 0 ? v : 0.5); return LEFT + (v - low_x) / (high_x - low_x) * WIDE }
function at_y(v) { if (logy) v = log10(v); return TOP + HIGH - (v - low_y) / (high_y - low_y) * HIGH }
function text(x, y, anchor, size, words) {
    printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\">%s</text>\n", x, y, anchor, size, escape(words)
}
function rule(x1, y1, x2, y2, colour) {
    printf "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1, y1, x2, y2, colour
}

# The shortest form of the number.
function short(v) { return v >= 100 || v == int(v) ? sprintf("%d", v + 0.5) : sprintf("%.3g", v) }

BEGIN {
    FS = "\t"
    LEFT = 70; TOP = 40; WIDE = 590; HIGH = 340
    # The largest width of a character in the labels' font of 11 pixels.
    DIGIT_WIDE = 6.2
    split("#1b6ca8 #d1495b #e9a03b #3a7d44 #6a4c93 #777777", colours, " ")
}

NF >= 3 && number($3) {
    if (!($1 in known)) { known[$1] = ++series; name[series] = $1 }
    if (!($2 in place)) { place[$2] = ++places; label[places] = $2 }
    if (!number($2)) words = 1
    n = ++count[$1]; xs[$1, n] = $2; ys[$1, n] = $3
    if (NR == 1 || $3 < least) least = $3
    if (NR == 1 || $3 > most) most = $3
    all[++total] = $2
}

function axes(   i, v, step) {
    if (words) { low_x = 0; high_x = places; logx = 0 }
    else for (i = 1; i <= total; i++) {
        v = logx ? log10(all[i] > 0 ? all[i] : 0.5) : all[i]
        if (i == 1 || v < low_x) low_x = v
        if (i == 1 || v > high_x) high_x = v
    }
    if (high_x == low_x) high_x = low_x + 1
    if (logy) { low_y = int(log10(least) - (least < 1)); high_y = int(log10(most) + (most >= 1)); if (high_y == low_y) high_y++ }
    else { low_y = least < 0 ? least : 0; high_y = most * 1.1 }
    if (high_y == low_y) high_y = low_y + 1
    if (logy) for (v = low_y; v <= high_y; v++) mark_y(10 ^ v)
    else {
        step = 10 ^ int(log10(high_y - low_y) - 1)
        while ((high_y - low_y) / step > 8) step *= (++i % 2 ? 2 : 2.5)
        for (v = 0; v <= high_y; v += step) mark_y(v)
    }
    mark_x()
    rule(LEFT, TOP, LEFT, TOP + HIGH, "black")
    rule(LEFT, TOP + HIGH, LEFT + WIDE, TOP + HIGH, "black")
}

# The labels below the horizontal axis, from left to right. Each is in the upper of two rows if
# there is room: the labels of close points are in different rows.
function mark_x(   i, j, next_label, x, half, row, end) {
    for (i = 1; i <= places; i++) x[i] = words ? LEFT + (i - 0.5) / places * WIDE : at_x(label[i])
    for (j = 1; j <= places; j++) {
        next_label = 0
        for (i in x) if (!next_label || x[i] < x[next_label]) next_label = i
        half = length(label[next_label]) * DIGIT_WIDE / 2
        row = x[next_label] - half < end[1] && end[2] <= end[1] ? 2 : 1
        end[row] = x[next_label] + half + DIGIT_WIDE
        text(x[next_label], TOP + HIGH + 6 + 12 * row, "middle", 11, label[next_label])
        delete x[next_label]
    }
}

function mark_y(v) {
    rule(LEFT, at_y(v), LEFT + WIDE, at_y(v), "#dddddd")
    text(LEFT - 6, at_y(v) + 4, "end", 11, short(v))
}

function draw(s,   i, x, y, wide, base, colour, path) {
    colour = colours[(s - 1) % 6 + 1]
    wide = WIDE / places * 0.8 / series
    base = TOP + HIGH
    for (i = 1; i <= count[name[s]]; i++) {
        y = at_y(ys[name[s], i])
        if (words) {
            x = LEFT + (place[xs[name[s], i]] - 0.9) / places * WIDE + (s - 1) * wide
            printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x, y, wide, base - y, colour
            text(x + wide / 2, y - 3, "middle", 9, short(ys[name[s], i]))
            continue
        }
        x = at_x(xs[name[s], i])
        path = path sprintf("%s%.1f %.1f", i == 1 ? "M" : " L", x, y)
        printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x, y, colour
    }
    if (path != "") printf "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n", path, colour
    printf "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", LEFT + WIDE + 12, TOP + 18 * s, colour
    text(LEFT + WIDE + 30, TOP + 18 * s + 10, "start", 12, name[s])
}

END {
    if (!total) exit 1
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"840\" height=\"440\" font-family=\"sans-serif\">\n"
    printf "<rect width=\"840\" height=\"440\" fill=\"white\"/>\n"
    text(LEFT + WIDE / 2, 24, "middle", 16, title)
    axes()
    for (s = 1; s <= series; s++) draw(s)
    text(LEFT + WIDE / 2, TOP + HIGH + 42, "middle", 12, xlabel)
    text(LEFT, TOP - 8, "middle", 12, ylabel)
    print "</svg>"
}
