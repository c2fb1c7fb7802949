"""The texts of SVG drawings."""

from __future__ import annotations

from xml.etree import ElementTree as ET


def read_svg_texts(svg: str | bytes) -> set[str | None]:
    return {element.text for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")}  # noqa: S314 - our own
