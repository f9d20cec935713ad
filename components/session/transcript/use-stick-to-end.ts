"use client";

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

const nearEnd = 48;

/**
 * Keeps the end in sight while the reader is there. Moving up, by whatever means, lets go at once;
 * coming back to the end takes hold again. Growing content alone never counts as the reader's move.
 */
export function useStickToEnd() {
  const box = useRef<HTMLElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const sticking = useRef(true);
  const [atEnd, setAtEnd] = useState(true);

  const toEnd = useCallback(() => {
    sticking.current = true;
    setAtEnd(true);
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, []);

  useLayoutEffect(toEnd, [toEnd]);

  useEffect(() => {
    const [element, inner] = [box.current, content.current];
    if (!element || !inner) return;
    let last = { top: element.scrollTop, height: element.scrollHeight };

    function moved() {
      if (!element) return;
      const { scrollTop, scrollHeight, clientHeight } = element;
      const left = scrollHeight - clientHeight - scrollTop;
      if (left < nearEnd) sticking.current = true;
      else if (scrollTop < last.top - 1 && scrollHeight >= last.height) sticking.current = false;
      last = { top: scrollTop, height: scrollHeight };
      setAtEnd(sticking.current || left < nearEnd);
    }
    const grown = new ResizeObserver(() => {
      if (sticking.current) element.scrollTop = element.scrollHeight;
      else moved();
    });
    element.addEventListener("scroll", moved, { passive: true });
    grown.observe(inner);
    grown.observe(element);
    return () => {
      element.removeEventListener("scroll", moved);
      grown.disconnect();
    };
  }, []);

  return { box, content, atEnd, toEnd };
}
