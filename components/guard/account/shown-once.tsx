import type { ReactNode } from "react";
import { Button } from "@/components/ui/button";
import { CopyButton } from "@/components/ui/copy-button";
import { Dialog } from "@/components/ui/dialog";

/** A secret that nobody can read again: of a link, a token, recovery codes. Its button alone closes it. */
export function ShownOnce(props: {
  title: string;
  label: string;
  text: string;
  /** The label of the button that closes it. */
  done: string;
  onClose: () => void;
  children: ReactNode;
}) {
  const { title, label, text, done, onClose, children } = props;
  return (
    <Dialog title={title} stays onClose={onClose} footer={<Button onClick={onClose}>{done}</Button>}>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-2">
        <p>{children}</p>
        <div className="flex items-start gap-2 rounded-md border border-line bg-canvas p-2">
          <pre className="min-w-0 flex-1 font-mono text-sm break-all whitespace-pre-wrap select-all">{text}</pre>
          <CopyButton text={text} label={label} />
        </div>
      </div>
    </Dialog>
  );
}
