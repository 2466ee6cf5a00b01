//! Pages in a real browser: `CHROMIUM`, or the one in the path. Without one these tests say so and pass.

#[path = "support/chromium.rs"]
mod chromium;
mod data;

use chromium::Browser;
use laxity_report::*;
use std::path::{Path, PathBuf};

/// Desktop and phone, in pixels.
const SIZES: [(u32, u32); 2] = [(1280, 900), (390, 844)];

/// A page in a file, and a browser for it, unless there is none.
fn open(name: &str, page: &Page) -> Option<(Browser, String)> {
    let program = match chromium::find() {
        Ok(program) => program,
        Err(why) => {
            assert_ne!(std::env::var("LAXITY_REQUIRE_ALL").as_deref(), Ok("1"), "{why}");
            eprintln!("skipped: {why}");
            return None;
        }
    };
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("page.html");
    std::fs::write(&file, page.html()).unwrap();
    Some((Browser::start(&program, &folder), format!("file://{}", file.display())))
}

/// No error, and no request but for the page itself.
fn quiet(browser: &Browser, url: &str) {
    assert_eq!(browser.errors, Vec::<String>::new());
    assert!(browser.requests.iter().all(|r| r == url), "{:?}", browser.requests);
}

fn link() -> Page {
    let (result, details) = data::simulation(&data::POLICIES, 20);
    let (check, residual) = (data::check(true), data::residual());
    simulation_page(&result, &details, Some(&check), Some(&residual), &data::meta())
}

/// The text of a column of the first table with this caption.
fn column(browser: &mut Browser, caption: &str, n: usize) -> Vec<String> {
    let cells = browser.eval(&format!(
        "[...[...document.querySelectorAll('table')].find(t => t.caption.textContent.includes({caption:?}))\
         .querySelectorAll('tbody tr:not(.group)')].map(r => r.cells[{n}].textContent)"
    ));
    cells.as_array().unwrap().iter().map(|c| c.as_str().unwrap().to_owned()).collect()
}

// Fails when the policy blocks the page's own script or style, a click sorts nothing, or the numbers are
// sorted as texts (tried: a hash of other text, and `localeCompare` alone).
#[test]
fn tables_sort_and_copy() {
    let Some((mut browser, url)) = open("tables", &link()) else { return };
    for size in SIZES {
        browser.open(&url, size);
        browser.wait("document.documentElement.classList.contains('scripted')");
        let press = |browser: &mut Browser| {
            browser.eval(
                "[...document.querySelectorAll('table')].find(t => t.caption.textContent.includes('Policies'))\
                 .querySelectorAll('th .sort')[1].click()",
            )
        };
        let first = column(&mut browser, "Policies", 1);
        press(&mut browser);
        let number = |t: &String| t.split(' ').next().unwrap().parse::<f64>().unwrap();
        let up: Vec<f64> = column(&mut browser, "Policies", 1).iter().map(number).collect();
        assert!(up.len() == 4 && up.is_sorted(), "{up:?}");
        press(&mut browser);
        let down: Vec<f64> = column(&mut browser, "Policies", 1).iter().map(number).collect();
        assert!(down.iter().rev().is_sorted(), "{down:?}");
        press(&mut browser);
        assert_eq!(column(&mut browser, "Policies", 1), first);
        // In groups, by their numbers: as texts 1200 comes before 300.
        let packets = "[...document.querySelectorAll('table')]\
                       .find(t => t.caption.textContent.includes('Packets missed'))";
        let texts = "[...r.cells].slice(1, 2).map(c => c.textContent)";
        browser.eval(&format!(
            "[...{packets}.tBodies[1].rows].slice(1).forEach((r, i) => \
             {{ r.cells[1].textContent = ['1\\u202f200', '300', '45'][i]; }}); \
             {packets}.querySelectorAll('th .sort')[1].click()"
        ));
        let sorted =
            browser.eval(&format!("[...{packets}.tBodies[1].rows].slice(1).flatMap(r => {texts})"));
        assert_eq!(sorted, serde_json::json!(["45", "300", "1\u{202f}200"]));
        browser.eval(
            "globalThis.copied = ''; Object.defineProperty(navigator, 'clipboard', \
             { value: { writeText: async (t) => { globalThis.copied = t; } } }); \
             document.querySelector('.table .tools button').click()",
        );
        let text = browser.eval("globalThis.copied");
        let text = text.as_str().unwrap();
        assert!(text.starts_with("Flow,demand,") && text.lines().count() > 2, "{text}");
    }
    quiet(&browser, &url);
}

// Fails when an entry of the legend hides nothing, a filter leaves columns, rows or panels, or a saved figure
// is no picture of its own.
#[test]
fn legends_and_filters_hide() {
    let Some((mut browser, url)) = open("legends", &link()) else { return };
    for size in SIZES {
        browser.open(&url, size);
        let shown = "[...document.querySelectorAll('#fig-ccdf g[data-k=\"1\"]')]\
                     .filter(g => getComputedStyle(g).display !== 'none').length";
        assert_ne!(browser.eval(shown), 0);
        let press = "document.querySelector('#fig-ccdf .legend [data-k=\"1\"] button').click()";
        browser.eval(press);
        assert_eq!(browser.eval(shown), 0);
        browser.eval(press);
        assert_ne!(browser.eval(shown), 0);
        let saved = browser.eval(
            "globalThis.Blob = class extends Blob { constructor(parts, options) { \
             super(parts, options); globalThis.saved = parts[0]; } }; \
             HTMLAnchorElement.prototype.click = () => {}; \
             document.querySelector('#fig-ccdf .tools button').click(); globalThis.saved",
        );
        let svg = saved.as_str().unwrap();
        let document = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{e}: {svg}"));
        let panels = document.descendants().filter(|n| n.attribute("role") == Some("img")).count();
        assert!(panels >= 6 && svg.contains("--c1:") && !svg.contains("data-"), "{panels} panels");
        // The second policy: its columns, its row, its panels.
        browser.eval("document.querySelector('#filters input[value=\"0.1\"]').click()");
        let left = "[...document.querySelectorAll('main [data-of=\"0.1\"], main td')]\
                    .filter(e => e.dataset.of === '0.1' && getComputedStyle(e).display !== 'none').length";
        assert_eq!(browser.eval(left), 0);
        assert_eq!(browser.eval(shown), 0);
        let cells = "[...document.querySelectorAll('table')]\
                     .filter(t => t.caption.textContent.includes('Mean delay'))[0]\
                     .querySelectorAll('tbody tr:not(.group)')[0].querySelectorAll('td:not(.off)').length";
        assert_eq!(browser.eval(cells), 3);
    }
    quiet(&browser, &url);
}

// Fails when the pointer shows no value, a drag does not zoom, or a panel of the same axis stays behind
// (tried: without the link between them).
#[test]
fn plots_show_values_and_zoom_together() {
    let Some((mut browser, url)) = open("plots", &link()) else { return };
    for size in SIZES {
        browser.open(&url, size);
        let panel = "#s-delay-over-time ~ figure svg[data-zoom]";
        let [left, top, width, height] = browser.place(panel);
        let at = |x: f64| (left + width * x, top + height * 0.6);
        browser.mouse("mouseMoved", at(0.5));
        browser.wait("document.querySelector('#tip.shown') !== null");
        let tip = browser.eval("document.querySelector('#tip strong').textContent");
        assert!(tip.as_str().unwrap().ends_with(" s"), "{tip}");
        let labels = format!(
            "[...document.querySelectorAll('{panel}')].slice(0, 2)\
             .map(s => [...s.querySelectorAll('g.tx text')].map(t => t.textContent).join(' '))"
        );
        let before = browser.eval(&labels);
        browser.mouse("mousePressed", at(0.5));
        browser.mouse("mouseMoved", at(0.55));
        browser.mouse("mouseReleased", at(0.6));
        browser.frame();
        let after = browser.eval(&labels);
        for i in [0, 1] {
            assert_ne!(before[i], after[i]);
        }
        assert_eq!(after[0], after[1]);
        // Zero shows everything again.
        browser.eval(&format!(
            "document.querySelector('{panel}').dispatchEvent(new KeyboardEvent('keydown', {{ key: '0' }}))"
        ));
        browser.frame();
        assert_eq!(browser.eval(&labels), before);
    }
    quiet(&browser, &url);
}

// Fails when the script reads or draws what nobody looks at before the page answers (tried: all points read at
// once). It then takes longer than the 300 ms of the whole opening; the time is printed.
#[test]
fn pages_answer_soon_after_opening() {
    let policies = ["background", "shifted-line", "two-segment", "slack", "exact"];
    let (result, details) = data::simulation(&policies, 360);
    let check = data::check(true);
    let page = simulation_page(&result, &details, Some(&check), None, &data::meta());
    let Some((mut browser, url)) = open("opening", &page) else { return };
    // Counts the digits of points that the page reads.
    let count = "window.digits = 0; const charCodeAt = String.prototype.charCodeAt; \
                 String.prototype.charCodeAt = function (i) { digits++; return charCodeAt.call(this, i); };";
    browser.call("Page.addScriptToEvaluateOnNewDocument", serde_json::json!({ "source": count }));
    browser.open(&url, SIZES[0]);
    let at = |browser: &mut Browser, name: &str| {
        let mark = format!("performance.getEntriesByName('laxity-{name}')[0].startTime");
        browser.eval(&mark).as_f64().unwrap()
    };
    let (start, ready) = (at(&mut browser, "start"), at(&mut browser, "ready"));
    eprintln!("{} bytes; script from {start} to {ready} ms after opening", page.html().len());
    let read = browser.eval("digits").as_u64().unwrap();
    assert!(read < 1000, "{read} digits of points read");
    // Zooming reads those in sight.
    browser.place("figure svg[data-zoom]");
    browser.eval(
        "document.querySelector('figure svg[data-zoom]').dispatchEvent(new KeyboardEvent('keydown', { key: '+' }))",
    );
    browser.wait("digits > 10000");
    quiet(&browser, &url);
}

// Fails when a phone shows letters below 11 pixels, a page wider than itself, or a table without its
// first column.
#[test]
fn phones_can_read_it() {
    let Some((mut browser, url)) = open("phone", &link()) else { return };
    browser.open(&url, SIZES[1]);
    let small = "[...document.querySelectorAll('body *')].filter(e => e.checkVisibility() && \
        [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())).map(e => { \
        const svg = e.closest('svg[viewBox]'); \
        const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1; \
        return [scale * parseFloat(getComputedStyle(e).fontSize), e.textContent]; })\
        .filter(([size]) => size < 11)";
    assert_eq!(browser.eval(small), serde_json::json!([]));
    assert_eq!(browser.eval("document.documentElement.scrollWidth"), 390);
    let kept = browser.eval(
        "(() => { const s = [...document.querySelectorAll('.scroll')].find(s => s.scrollWidth > s.clientWidth + 50); \
         s.scrollLeft = 50; const row = s.querySelector('tbody tr:not(.group) th'); \
         return row.getBoundingClientRect().left - s.getBoundingClientRect().left; })()",
    );
    assert_eq!(kept, 0);
    quiet(&browser, &url);
}

/// Four CPUs, 100 000 slices in 20 s.
fn long_schedule() -> Page {
    let (mut result, mut details) = data::cpus::simulation(&["bebs"], 1);
    (result.cpus, result.duration_ns) = (4, 20_000_000_000);
    let tasks = details[0].tasks.len() as u64;
    for task in &mut details[0].tasks {
        task.slices.clear();
    }
    for i in 0..25_000u64 {
        for cpu in 0..4 {
            let from = i * 800_000 + u64::from(cpu) * 7_000;
            let slice = CpuSlice { cpu, from, to: from + 500_000 + i % 7 * 40_000 };
            details[0].tasks[((i + u64::from(cpu)) % tasks) as usize].slices.push(slice);
        }
    }
    cpu_simulation_page(CpuOutcome::One(&result), &details, None, &Meta::default())
}

// Fails when the schedule ends where the picture of a page without script ends, or every slice is drawn at
// every zoom (tried: slices shorter than a pixel drawn like the others). A frame then takes longer than the 16 ms of
// 60 a second; the time is printed.
#[test]
fn the_schedule_scrolls_from_end_to_end() {
    let Some((mut browser, url)) = open("schedule", &long_schedule()) else { return };
    for size in SIZES {
        browser.open(&url, size);
        browser.place(".schedule canvas");
        let key = |k: &str| {
            format!(
                "document.querySelector('.schedule canvas').dispatchEvent(new KeyboardEvent('keydown', {{ key: '{k}' }}))"
            )
        };
        for k in ["+", "+", "+", "+", "+", "+", "+", "+", "+", "+", "End"] {
            browser.eval(&key(k));
        }
        browser.frame();
        let [left, top, width, _] = browser.place(".schedule canvas");
        browser.mouse("mouseMoved", (left + width - 12.0, top + 12.0));
        browser.wait("document.querySelector('#tip.shown') !== null");
        let tip = browser.eval("document.querySelector('#tip').textContent");
        assert!(tip.as_str().unwrap().contains("19.99"), "{tip}");
        // Frames of the whole run, where most slices are in sight.
        browser.eval(&key("0"));
        browser.frame();
        let frames = browser.eval(&format!(
            "(async () => {{ const times = []; for (let i = 0; i < 21; i++) {{ {}; \
             await new Promise(r => requestAnimationFrame(t => {{ times.push(performance.now() - t); \
             setTimeout(r); }})); }} return times.sort((a, b) => a - b)[10]; }})()",
            key("-")
        ));
        // At most a bar for each pixel of a row.
        browser.eval(
            "window.calls = 0; for (const name of ['fillRect', 'fill', 'stroke']) { \
             const of = CanvasRenderingContext2D.prototype, before = of[name]; \
             of[name] = function (...all) { calls++; return before.apply(this, all); }; }",
        );
        browser.eval(&key("-"));
        browser.frame();
        let drawn = browser.eval(
            "(() => { const c = document.querySelector('.schedule canvas'); \
             return [calls, c.clientWidth * Math.floor(c.clientHeight / 24)]; })()",
        );
        let [calls, pixels] = [0, 1].map(|i| drawn[i].as_f64().unwrap());
        eprintln!(
            "the whole run at {} pixels: {frames} ms a frame, {calls} bars and marks",
            size.0
        );
        assert!(calls > 100.0 && calls < pixels, "{calls} for {pixels} pixels");
    }
    quiet(&browser, &url);
}
