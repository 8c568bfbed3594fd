import { formFields } from "@/lib/brokers/kinds/descriptor.shapes";
import { KINDS, kindOf } from "@/lib/brokers/kinds/kinds.shapes";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { KindList, KindOut } from "@/lib/sources/kinds.shapes";

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
