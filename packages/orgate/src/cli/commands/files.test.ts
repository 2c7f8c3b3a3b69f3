import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { type Desk, expectRefusals, holding, makeDesk } from "./fixtures/desk.ts";

const desks: Desk[] = [];
const newDesk = (): Desk => {
  const desk = makeDesk();
  desk.write("agents/eye.ts", EYE);
  desks.push(desk);
  return desk;
};
afterAll(() => {
  for (const desk of desks) desk.remove();
});

const EYE = `import { defineAgent } from "orgate";
export default defineAgent({ name: "eye", instructions: "Look.", model: "offline/eye", modelOptions: { rules: [{ say: "I see {{files}}." }] } });
`;
const PICTURES = `@id("no-pictures")
@reason("no pictures")
forbid(principal, action == Action::"model", resource) when { context.media.contains("image/png") };
`;
const CASES = JSON.stringify([
  { name: "words", agent: "eye", action: "model", media: ["text/plain"], verdict: "allow" },
  { name: "pictures", agent: "eye", action: "model", media: ["image/png"], verdict: "deny", because: ["pictures/no-pictures"] },
]);
const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const BIG = Buffer.concat([PIXEL, Buffer.alloc(1_500_000, "CANARY")]);
/** As it is kept: base64, from where three bytes begin. */
const CANARY = Buffer.from("NARYCANARYCANARYCA").toString("base64");
const filesWith = (folder: string, text: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && readFileSync(join(entry.parentPath, entry.name)).includes(text))
    .map(({ name }) => name);

describe("--file", () => {
  test("M-21 files are shown with a run and with what is said later; a screen has their names, never their bytes", async () => {
    const desk = newDesk();
    desk.write("pixel.png", PIXEL);
    desk.write("notes.txt", "the door is green\n");
    const run = await desk.json("run", "eye", "--input", "what is it?", "--file", "pixel.png", "--file", "notes.txt");
    const { output, session } = run as { output: string; session: string };
    expect(output).toBe("I see pixel.png (image/png, 70 bytes), notes.txt (text/plain, 18 bytes).");
    const said = (await desk.json("sessions", "say", session, "and this?", "--file", "notes.txt")) as { result: object };
    expect(said).toMatchObject({
      event: { files: [{ name: "notes.txt" }] },
      result: { output: "I see notes.txt (text/plain, 18 bytes)." },
    });
    const shown = (await desk.orgate("sessions", "show", session)).stdout;
    expect(shown).toContain("what is it? · with pixel.png (image/png, 70 bytes), notes.txt (text/plain, 18 bytes)");
    expect(shown).not.toContain(PIXEL.toString("base64").slice(0, 20));
    await desk.json("sessions", "fork", session, "--id", "again");
    const fork = (await desk.json("run", "eye", "--id", "again", "--input", "sure?")) as { conversation: readonly object[] };
    expect(fork.conversation[0]).toMatchObject({ role: "user", files: [{ name: "pixel.png" }, { name: "notes.txt" }] });
    expect((await desk.orgate("journal", "verify")).code).toBe(0);
  });

  test("M-21 what cannot be shown is refused before anything is opened", async () => {
    const desk = newDesk();
    desk.write("photo.jpeg", PIXEL);
    desk.write("program", Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0]));
    const run = (path: string) => ["run", "eye", "--input", "x", "--file", path];
    await expectRefusals(desk, [
      [run("absent.png"), 1, "file `absent.png` cannot be part of a message: there is no such file"],
      [run("photo.jpeg"), 1, "its first bytes are those of image/png"],
      [run("program"), 1, "it is no image, no PDF, and not UTF-8 text"],
      [["run", "eye", "--input", "x", "--file"], 2, "--file needs a value"],
    ]);
    expect(desk.has(".orgate/journal.db")).toBe(false);
  });

  test("M-21 a holder is steered with a file that is too long for its socket, and erasing the session erases it", async () => {
    const desk = newDesk();
    desk.write("big.png", BIG);
    const run = desk.start(["run", "desk", "--input", "hold on", "--json"]);
    const session = await holding(desk);
    const steered = await desk.json("sessions", "steer", session, "see this", "--file", "big.png");
    expect(steered).toMatchObject({ state: "taken", event: { kind: "input.steered", files: [{ name: "big.png" }] } });
    desk.write("go", "");
    expect((await run.ended).code).toBe(0);
    expect(filesWith(join(desk.root, ".orgate"), CANARY).length).toBeGreaterThan(0);
    expect((await desk.orgate("journal", "erase", "--session", session, "--reason", "asked")).code).toBe(0);
    expect(filesWith(join(desk.root, ".orgate"), CANARY)).toEqual([]);
    expect((await desk.orgate("journal", "verify")).code).toBe(0);
  });

  test("L-29 a policy that keeps pictures from a model does so from the first request that would show one", async () => {
    const desk = newDesk();
    desk.write("pixel.png", PIXEL);
    desk.write("notes.txt", "the door is green\n");
    desk.write("policies/pictures.cedar", PICTURES);
    desk.write("policies/pictures.cases.json", CASES);
    const notes = await desk.json("run", "eye", "--input", "read", "--file", "notes.txt");
    const { session, output } = notes as { session: string; output: string };
    expect(output).toContain("notes.txt");
    const denied = await desk.orgate("sessions", "say", session, "look", "--file", "pixel.png", "--json");
    expect(JSON.parse(denied.stdout)).toMatchObject({ result: { ending: "denied", detail: "no pictures" } });
    const later = await desk.orgate("sessions", "say", session, "and now?", "--json"); // it is still in the conversation
    expect(JSON.parse(later.stdout)).toMatchObject({ result: { ending: "denied", detail: "no pictures" } });
    const model = ["policy", "eval", "--agent", "eye", "--action", "model"];
    expect(await desk.json(...model, "--media", "text/plain")).toMatchObject({ verdict: { kind: "allow" } });
    expect(JSON.parse((await desk.orgate(...model, "--media", "image/png,text/plain", "--json")).stdout)).toMatchObject({
      verdict: { kind: "deny" },
    });
    expect(await desk.json("policy", "explain", "--session", session, "--call", "model:1")).toMatchObject({
      decision: { verdict: { kind: "deny" } },
      recorded: { read: { media: ["image/png", "text/plain"] } },
    });
  });

  test("L-29 a picture that is shown while a turn runs is decided on before its next request", async () => {
    const desk = newDesk();
    desk.write("pixel.png", PIXEL);
    desk.write("policies/pictures.cedar", PICTURES);
    const run = desk.start(["run", "desk", "--input", "hold on", "--json"]);
    const session = await holding(desk);
    await desk.json("sessions", "steer", session, "see this", "--file", "pixel.png");
    desk.write("go", "");
    expect(JSON.parse((await run.ended).stdout)).toMatchObject({ ending: "denied", detail: "no pictures", iterations: 1 });
  });
});
