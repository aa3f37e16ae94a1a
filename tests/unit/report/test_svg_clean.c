/* SPDX-License-Identifier: Apache-2.0 */
#include "report/parts.h"

#include "unit/unit.h"

#include <stdlib.h>
#include <string.h>

static void check(const char *from, const char *to) {
    struct error err = {0};
    char *got = svg_clean(from, "p", &err);
    assert_non_null(got);
    assert_string_equal(got, to);
    free(got);
}

static void refuse(const char *from, const char *why) {
    struct error err = {0};
    assert_null(svg_clean(from, "p", &err));
    assert_non_null(strstr(err.text, why));
}

static void test_drawing_passes(void **state) {
    (void)state;
    check(
        "<?xml version=\"1.0\"?>\n<svg viewBox=\"0 0 1 1\" xmlns=\"http://www.w3.org/2000/svg\">\n<path d='M0,0'/></svg>\n",
        "<svg role=\"img\" viewBox=\"0 0 1 1\"><path d=\"M0,0\"/></svg>");
    check("<svg><text> a&lt;b </text></svg>", "<svg role=\"img\"><text> a&lt;b </text></svg>");
    check("<svg><polygon fill = 'red' points = '0,0 1,1'/></svg>",
          "<svg role=\"img\"><polygon fill=\"red\" points=\"0,0 1,1\"/></svg>");
}

static void test_names_get_a_prefix(void **state) {
    (void)state;
    check(
        "<svg><path id='gpDot'/><use xlink:href='#gpDot'/><g clip-path=\"url(#c)\"><path/></g></svg>",
        "<svg role=\"img\"><path id=\"p-gpDot\"/><use xlink:href=\"#p-gpDot\"/><g clip-path=\"url(#p-c)\"><path/></g></svg>");
}

static void test_colours_are_the_pages(void **state) {
    (void)state;
    check("<svg><path stroke='rgb( 64,  64,  64)' fill=\"rgb(0,114,178)\"/></svg>",
          "<svg role=\"img\"><path stroke=\"var(--plot-ink)\" fill=\"var(--c1)\"/></svg>");
}

static void test_titles_and_filters_are_left_out(void **state) {
    (void)state;
    check(
        "<svg><title>x</title><filter id='t'><feFlood a='1'/></filter><g a=\"1\"></g><g fill=\"none\">\n</g><path/></svg>",
        "<svg role=\"img\"><g></g><path/></svg>");
    check("<svg><g><path/><g x=\"1\"/></g></svg>", "<svg role=\"img\"><g><path/><g x=\"1\"/></g></svg>");
}

static void test_anything_else_is_refused(void **state) {
    (void)state;
    refuse("<svg><script>alert(1)</script></svg>", "does not draw");
    refuse("<svg><image xlink:href='#x'/></svg>", "does not draw");
    refuse("<svg><foreignObject/></svg>", "does not draw");
    refuse("<svg><use xlink:href='http://x/'/></svg>", "a link leads out");
    refuse("<svg><path fill='url(http://x/)'/></svg>", "an address");
    refuse("<svg><path fill='javascript:1'/></svg>", "an address");
    refuse("<svg><path d='<'/></svg>", "more than drawing needs");
    refuse("<svg><path d='", "no XML");
    refuse("<svg><g>", "ends in the middle");
    refuse("</svg>", "no XML");
    refuse("<svg></div></svg>", "no XML"); /* what an end would close of the page around it */
    refuse("<svg><g></svg></g>", "no XML");
    refuse("<svg></svg", "no XML");
    refuse("<svg></svg onload='x'>", "no XML");
    refuse("<svg></svg>words", "not one drawing");
    refuse("<svg></svg><svg></svg>", "not one drawing");
    refuse("<g></g>", "not one drawing");
    refuse("<svg><path fill=' url(//x/)'/></svg>", "an address");
    refuse("<svg><path fill='&#117;rl(//x/)'/></svg>", "more than drawing needs");
    check("<svg><g></g ></svg >", "<svg role=\"img\"><g></g></svg>");
    refuse("", "ends in the middle");
    refuse("<", "does not draw");
    check("<svg onload='alert(1)'><path onclick=\"x\" style='y' d='M0'/></svg>",
          "<svg role=\"img\"><path d=\"M0\"/></svg>");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drawing_passes),
        cmocka_unit_test(test_names_get_a_prefix),
        cmocka_unit_test(test_colours_are_the_pages),
        cmocka_unit_test(test_titles_and_filters_are_left_out),
        cmocka_unit_test(test_anything_else_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
