import { expect, test } from "vitest";
import { permissionPhrase, toolOf } from "./tools.ts";

test("a tool that is in no table is named as it is", () => {
  expect(toolOf("burrow")).toMatchObject({ kind: "other", icon: "other", verbs: ["Using burrow", "Used burrow"] });
  expect(toolOf("constructor").verbs[1]).toBe("Used constructor");
});

test("a title names what the tool works on, as far as it is known", () => {
  expect(toolOf("read").title("/workspace/sessions/1/src/a.ts")).toBe("Read a.ts");
  expect(toolOf("read").title("")).toBe("Read a file");
  expect(toolOf("grep").title("accent")).toBe("Search “accent”");
  expect(toolOf("apply_patch").title("")).toBe("Apply a patch");
});

test("a permission is asked for in words, whatever it is for", () => {
  expect(permissionPhrase("apply_patch")).toBe("change these files");
  expect(permissionPhrase("external_directory")).toBe("work outside the session's directory");
  expect(permissionPhrase("burrow")).toBe("use burrow");
  expect(permissionPhrase("constructor")).toBe("use constructor");
});
