/* The style sheet of a report: light or dark as the reader's browser is set, and for paper. */
#ifndef CRD_REPORT_STYLE_H
#define CRD_REPORT_STYLE_H

#include "draw/style.h"

#define CRD_REPORT_STYLE                                                                                               \
    ":root{color-scheme:light dark;" CRD_LIGHT_COLOURS "--warn:#fff4d6;--warn-line:#b45309}"                           \
    "@media(prefers-color-scheme:dark){:root{" CRD_DARK_COLOURS "--warn:#3a2f12;--warn-line:#fbbf24}}"                 \
    "@media print{:root{color-scheme:light;" CRD_LIGHT_COLOURS                                                         \
    "--card:#fff;--ink:#000;--soft:#333;--line:#bbb;--warn:#fff;--warn-line:#b45309}section{break-inside:auto}"        \
    "figure,article,.numbers div{break-inside:avoid}h2,h3,h4{break-after:avoid}details{display:none}}"                 \
    "*{box-sizing:border-box}body{margin:0 auto;max-width:1240px;padding:1.2rem;background:var(--back);"               \
    "color:var(--ink);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"               \
    "h1{font-size:1.7rem;line-height:1.2;margin:.2rem 0}h2{font-size:1.3rem;margin:2.2rem 0 .6rem;"                    \
    "border-bottom:2px solid var(--line);padding-bottom:.2rem}h3{font-size:1.1rem;margin:1.6rem 0 .4rem}"              \
    "h4{font-size:1rem;margin:1rem 0 .3rem}small,.sub{color:var(--soft);font-weight:400}.sub{margin:.1rem 0 "          \
    "1rem;max-width:none}"                                                                                             \
    "a{color:var(--a)}p,li{max-width:78ch}"                                                                            \
    ".warnings{background:var(--warn);border-left:5px solid var(--warn-line);padding:.6rem 1rem;border-radius:4px}"    \
    ".warnings ul{margin:.3rem 0;padding-left:1.2rem;overflow-wrap:anywhere}"                                          \
    ".numbers{display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:.7rem;margin:1rem 0}"          \
    ".numbers div{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.7rem .9rem}"          \
    ".numbers b{display:block;font-size:1.5rem;line-height:1.25;font-variant-numeric:tabular-nums}"                    \
    ".numbers span{color:var(--soft);font-size:.86rem}"                                                                \
    "table{border-collapse:collapse;margin:.6rem 0;font-variant-numeric:tabular-nums}"                                 \
    "th,td{text-align:left;padding:.25rem 1.2rem .25rem 0;border-bottom:1px solid var(--line);vertical-align:top}"     \
    "th{font-weight:400}thead "                                                                                        \
    "th{font-weight:600}td:not(:first-child),th:not(:first-child){text-align:right}.scroll{overflow-x:auto}"           \
    ".plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,360px),1fr));gap:1rem}"                \
    ".two{grid-template-columns:1fr}.pair{display:grid;grid-template-columns:1fr;gap:.7rem}"                           \
    "@media(min-width:600px){.pair{grid-template-columns:1fr 1fr}}"                                                    \
    "@media(min-width:1100px){.two{grid-template-columns:1fr 1fr}}"                                                    \
    ".note{color:var(--soft);font-size:.84rem;margin:.4rem 0 0;line-height:1.4}"                                       \
    "nav{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;margin:.4rem 0}strong{font-weight:650}"                          \
    "figure{margin:0}figcaption{color:var(--soft);font-size:.86rem;overflow-wrap:anywhere}"                            \
    ".plot{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.7rem}"                       \
    ".plot figcaption{color:var(--ink);font-weight:600;font-size:.92rem;min-height:2.6em}"                             \
    "svg{width:100%;height:auto;display:block;font-variant-numeric:tabular-nums}" CRD_SVG_STYLE                        \
    ".pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,160px),1fr));gap:.7rem;"             \
    "margin-bottom:.6rem}.pictures img,.crops img{width:100%;height:auto;display:block;"                               \
    "border-radius:3px;background:#000}"                                                                               \
    ".which{margin:.2rem 0;font-weight:600}"                                                                           \
    ".key{display:flex;flex-wrap:wrap;gap:.2rem 1.4rem;color:var(--soft)}"                                             \
    ".key i{display:inline-block;width:1.4rem;height:.5rem;margin-right:.5rem;border:1px solid var(--soft)}"           \
    ".key i,.pictures img,.crops img{"                                                                                 \
    "print-color-adjust:exact;-webkit-print-color-adjust:exact}"                                                       \
    "i.class{display:inline-block;width:1.1rem;height:.8rem;margin-right:.5rem;border:1px solid var(--soft)}"          \
    ".confusion td small{display:block}.confusion td,.confusion th:not(:first-child){padding:.3rem .8rem}"             \
    "i.class,.confusion td{print-color-adjust:exact;-webkit-print-color-adjust:exact}"                                 \
    ".bar{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem;margin:.4rem 0 1rem;color:var(--soft);"             \
    "font-variant-numeric:tabular-nums}.bar i{width:min(20rem,50vw);height:1rem;border:1px solid var(--line);"         \
    "print-color-adjust:exact;-webkit-print-color-adjust:exact}"                                                       \
    ".regions{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr));gap:1rem}"              \
    ".regions article{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.7rem}"            \
    ".regions h4{margin:0 0 .4rem}.crops{display:grid;grid-template-columns:1fr "                                      \
    "1fr;gap:.5rem}.three{grid-template-columns:1fr 1fr 1fr}"                                                          \
    "dl{display:grid;grid-template-columns:auto 1fr;gap:.1rem .8rem;margin:.6rem 0 0;font-size:.9rem}"                 \
    "dt{color:var(--soft)}dd{margin:0;font-variant-numeric:tabular-nums}"                                              \
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:.8rem;background:var(--card);padding:.8rem;"            \
    "border-radius:6px;border:1px solid var(--line)}details{margin:.6rem 0}summary{cursor:pointer}"                    \
    "footer{margin:3rem 0 1rem;color:var(--soft);font-size:.86rem}"                                                    \
    "@media print{body{font-size:12px}.plots,.regions{grid-template-columns:1fr "                                      \
    "1fr}.two{grid-template-columns:1fr}nav{display:none}}"

#endif
