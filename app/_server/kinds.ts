import type { KindList, KindOut } from "@/lib/contract/kinds";
import { assertMay, type Viewer } from "@/lib/core/viewer";
import { formFields } from "@/lib/kinds/descriptor";
import { KINDS, kindOf } from "@/lib/kinds/kinds";

const kindList: KindList = {
  items: KINDS.map((name): KindOut => {
    const { kind, label, about, icon, capabilities, config, destination, example, docs } = kindOf(name);
    const fields = formFields(config).map((field) => ({
      ...field,
      advanced: field.advanced ?? false,
      long: field.long ?? false,
    }));
    return { kind, label, about, icon, capabilities, fields, destination: [...destination], example, docs };
  }),
};

/** Every kind of source, as its descriptor has it. */
export function listKinds(viewer: Viewer): KindList {
  assertMay(viewer, "view");
  return kindList;
}
