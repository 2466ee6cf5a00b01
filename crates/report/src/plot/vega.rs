//! Panels as Vega-Lite: the same marks as data that other programs draw, in the units of the axes.
//!
//! The format is that of <https://vega.github.io/vega-lite/docs/> version 5: a layer for each way of
//! drawing, with its values inside. Series are reduced as in a page. A logarithmic scale there has no zero,
//! so points at zero are left out.

use super::ink::{Dash, Hue, Ink, Marker};
use super::live::{reduced, tops};
use super::{Anchor, Axis, Body, Mark, Plot, Point, Scale};
use crate::figure::Key;
use indexmap::IndexMap;
use serde_json::{Value, json};

/// Layers by how they are drawn, with the values of each.
type Layers = IndexMap<String, (Value, Vec<Value>)>;

/// One panel.
pub(crate) fn panel(plot: &Plot, legend: &[Key]) -> Value {
    let mut layers = Layers::new();
    for (n, mark) in plot.marks.iter().enumerate() {
        add(&mut layers, plot, legend, n, mark);
    }
    let layer: Vec<Value> = layers
        .into_values()
        .map(|(mut layer, values)| {
            layer["data"] = json!({ "values": values });
            layer
        })
        .collect();
    json!({
        "title": plot.title,
        "description": plot.desc,
        "width": plot.width,
        "height": plot.height,
        "layer": layer,
    })
}

fn axis(axis: &Axis, field: &str) -> Value {
    let per = axis.prefix().0;
    let scale = if axis.scale == Scale::Log { "log" } else { "linear" };
    let mut out = json!({
        "field": field,
        "type": "quantitative",
        "title": axis.title(),
        "scale": {
            "type": scale, "domain": [axis.min / per, axis.max / per], "nice": false, "zero": false,
        },
    });
    out["axis"] = json!({ "grid": axis.grid });
    if let Some(ticks) = &axis.ticks {
        let values: Vec<f64> = ticks.iter().map(|t| t.value / per).collect();
        let labels: Vec<&str> = ticks.iter().map(|t| t.label.as_str()).collect();
        let (of, text) = (json!(values).to_string(), json!(labels).to_string());
        out["axis"]["values"] = json!(values);
        out["axis"]["labelExpr"] = json!(format!("{text}[indexof({of}, datum.value)]"));
        out["axis"]["title"] = json!(axis.title());
    }
    out
}

fn add(layers: &mut Layers, plot: &Plot, legend: &[Key], n: usize, mark: &Mark) {
    let (x, y) = (plot.x.prefix().0, plot.y.prefix().0);
    let shown = |p: &Point| {
        let positive =
            |axis: &Axis, v: f64| v.is_finite() && (axis.scale == Scale::Linear || v > 0.0);
        positive(&plot.x, p.0) && positive(&plot.y, p.1)
    };
    let at = |p: &Point| json!({ "x": p.0 / x, "y": p.1 / y });
    let colour = |hue: Hue| match legend.iter().find(|k| k.ink.hue == hue) {
        Some(key) => {
            let domain: Vec<&str> = legend.iter().map(|k| k.label.as_str()).collect();
            let range: Vec<&str> = legend.iter().map(|k| k.ink.hue.hex()).collect();
            json!({
                "datum": key.label,
                "type": "nominal",
                "scale": { "domain": domain, "range": range },
                "legend": { "title": null },
            })
        }
        None => json!({ "value": hue.hex() }),
    };
    // A position of null: the mark spans the panel that way.
    let mut layer = |unique: bool, mark: Value, mut encoding: Value, values: Vec<Value>| {
        if values.is_empty() {
            return;
        }
        for (name, own) in [("x", &plot.x), ("y", &plot.y)] {
            match encoding.get(name) {
                None => encoding[name] = axis(own, name),
                Some(Value::Null) => drop(encoding.as_object_mut().map(|e| e.shift_remove(name))),
                Some(_) => {}
            }
        }
        let layer = json!({ "mark": mark, "encoding": encoding });
        // Pieces that look alike share a layer; lines do not, or they would be one line.
        let key = if unique { format!("{n} {layer}") } else { layer.to_string() };
        layers.entry(key).or_insert_with(|| (layer, Vec::new())).1.extend(values);
    };
    let series = |points: Vec<Point>| -> Vec<Value> {
        let shown = points.iter().filter(|p| shown(p)).enumerate();
        let value = |(i, p): (usize, &Point)| json!({ "x": p.0 / x, "y": p.1 / y, "i": i });
        shown.map(value).collect()
    };
    let order = json!({ "field": "i", "type": "quantitative" });
    let base = |y: f64| json!({ "datum": y });
    match mark {
        Mark::Line { points, ink } => layer(
            true,
            stroke("line", ink),
            json!({ "color": colour(ink.hue), "order": order }),
            series(reduced(&plot.x, points)),
        ),
        Mark::Area { points, base: level, hue } => layer(
            true,
            json!({ "type": "area", "opacity": 0.16, "clip": true }),
            json!({ "color": colour(*hue), "y2": base(level / y), "order": order }),
            series(reduced(&plot.x, points)),
        ),
        Mark::Skyline { points, hue } => layer(
            false,
            json!({ "type": "rule", "clip": true }),
            json!({ "color": colour(*hue), "y2": base(0.0) }),
            tops(&plot.x, points).iter().filter(|p| shown(p)).map(at).collect(),
        ),
        Mark::Stems { points, ink } => {
            let values: Vec<Value> =
                tops(&plot.x, points).iter().filter(|p| shown(p)).map(at).collect();
            let rule = json!({ "type": "rule", "opacity": 0.45, "clip": true });
            layer(
                false,
                rule,
                json!({ "color": colour(ink.hue), "y2": base(0.0) }),
                values.clone(),
            );
            layer(false, dot(ink), json!({ "color": colour(ink.hue) }), values);
        }
        Mark::Dots { points, ink } => layer(
            false,
            dot(ink),
            json!({ "color": colour(ink.hue) }),
            points.iter().filter(|p| shown(p)).map(at).collect(),
        ),
        Mark::Bar { y: level, x: ends, thick, hue, body } => {
            let opacity = if *body == Body::Solid { 1.0 } else { 0.3 };
            let mark =
                json!({ "type": "rule", "strokeWidth": thick, "opacity": opacity, "clip": true });
            let value = json!({ "x": ends.0 / x, "x2": ends.1 / x, "y": level / y });
            layer(
                false,
                mark,
                json!({ "color": colour(*hue), "x2": { "field": "x2" } }),
                vec![value],
            );
        }
        Mark::Segment { from, to, ink, .. } => {
            let value = json!({ "x": from.0 / x, "y": from.1 / y, "x2": to.0 / x, "y2": to.1 / y });
            let ends = json!({
                "color": colour(ink.hue), "x2": { "field": "x2" }, "y2": { "field": "y2" },
            });
            layer(false, stroke("rule", ink), ends, vec![value]);
        }
        Mark::Vertical { x: place, label, ink } => {
            let value = json!({ "x": place / x, "text": label });
            let colour = json!({ "value": ink.hue.hex() });
            layer(
                false,
                stroke("rule", ink),
                json!({ "color": colour, "y": null }),
                vec![value.clone()],
            );
            let mark = json!({ "type": "text", "align": "left", "dx": 4, "dy": 10 });
            let encoding =
                json!({ "color": colour, "y": { "value": 0 }, "text": { "field": "text" } });
            layer(false, mark, encoding, vec![value]);
        }
        Mark::Horizontal { y: place, label, ink } => {
            let value = json!({ "y": place / y, "text": label });
            let colour = json!({ "value": ink.hue.hex() });
            layer(
                false,
                stroke("rule", ink),
                json!({ "color": colour, "x": null }),
                vec![value.clone()],
            );
            let mark = json!({ "type": "text", "align": "right", "dy": -6 });
            let right = json!({ "value": "width" });
            let encoding = json!({ "color": colour, "x": right, "text": { "field": "text" } });
            layer(false, mark, encoding, vec![value]);
        }
        Mark::Inside { at: place, text } => {
            let mark = json!({ "type": "text", "align": "left", "dx": 6 });
            words(&mut layer, mark, at(place), text);
        }
        Mark::Text { at: place, shift, text, anchor } => {
            let align = match anchor {
                Anchor::Start => "left",
                Anchor::Middle => "center",
                Anchor::End => "right",
            };
            let mark = json!({ "type": "text", "align": align, "dx": shift.0, "dy": shift.1 });
            words(&mut layer, mark, at(place), text);
        }
    }
}

fn words(
    layer: &mut impl FnMut(bool, Value, Value, Vec<Value>),
    mark: Value,
    mut value: Value,
    text: &str,
) {
    value["text"] = json!(text);
    layer(false, mark, json!({ "text": { "field": "text" } }), vec![value]);
}

fn stroke(kind: &str, ink: &Ink) -> Value {
    let dash: &[u8] = match ink.dash {
        Dash::Solid => &[],
        Dash::Long => &[7, 3],
        Dash::Short => &[4, 3],
        Dash::Dots => &[1, 3],
        Dash::Mixed => &[8, 3, 2, 3],
    };
    json!({ "type": kind, "strokeWidth": ink.width, "strokeDash": dash, "clip": true })
}

fn dot(ink: &Ink) -> Value {
    let (shape, filled) = match ink.marker.unwrap_or(Marker::Circle) {
        Marker::Circle => ("circle", true),
        Marker::Ring => ("circle", false),
        Marker::Square => ("square", true),
        Marker::Box => ("square", false),
        Marker::Triangle => ("triangle-up", true),
        Marker::Diamond => ("diamond", true),
        Marker::Cross | Marker::Plus => ("cross", false),
    };
    json!({ "type": "point", "shape": shape, "filled": filled, "clip": true })
}
