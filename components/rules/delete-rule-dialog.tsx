import { ReasonDialog } from "@/components/ui/reason-dialog";

/** Asks for the reason of the deletion of a rule, of admission or of redrives. `description`: what becomes of its effects. */
export function DeleteRuleDialog({
  name,
  description,
  onDelete,
  onClose,
}: {
  name: string;
  description: string;
  onDelete: (reason: string) => Promise<unknown>;
  onClose: () => void;
}) {
  return (
    <ReasonDialog
      title={`Delete ${name}?`}
      description={description}
      size="sm"
      verb="Delete"
      variant="danger"
      keep="Keep it"
      onClose={onClose}
      onSubmit={async (reason) => {
        await onDelete(reason);
        return { title: `Deleted ${name}`, tone: "success" };
      }}
    />
  );
}
