import { defineAgent, estimateTokens } from "@orgate/core";
import { describe, expect, test } from "vitest";
import { tokenizers } from "./tokenizers.ts";

/** The same things said in several scripts, and what is not prose. */
const CORPUS: Readonly<Record<string, string>> = {
  english:
    "The runtime keeps a journal of everything that happened, and every decision names the policies that made it. When a process dies, another one takes the session up where it stands.",
  german:
    "Die Laufzeit führt ein Journal über alles, was geschehen ist, und jede Entscheidung nennt die Richtlinien, die sie getroffen haben. Überprüfungen, Genehmigungsverfahren und Größenbeschränkungen gehören dazu.",
  french:
    "L'exécution tient un journal de tout ce qui s'est passé, et chaque décision nomme les règles qui l'ont prise. À l'étranger, où il a été créé, ça a déjà coûté cher.",
  polish:
    "Środowisko uruchomieniowe prowadzi dziennik wszystkiego, co się wydarzyło, a każda decyzja wskazuje zasady, które ją podjęły. Zażółć gęślą jaźń.",
  vietnamese:
    "Hệ thống ghi lại mọi việc đã xảy ra, và mỗi quyết định đều nêu tên các chính sách đã đưa ra nó. Khi một tiến trình chết, tiến trình khác sẽ tiếp tục phiên làm việc.",
  chinese:
    "运行时会记录所发生的一切，每个决定都会注明是哪些策略作出的。当一个进程终止时，另一个进程会从中断的地方继续这个会话。预算在调用之前预留，在调用之后结算。",
  traditional: "執行環境會記錄所發生的一切，每個決定都會註明是哪些政策作出的。當一個程序終止時，另一個程序會從中斷的地方繼續這個工作階段。",
  japanese:
    "ランタイムは起きたことのすべてを記録し、それぞれの決定にはそれを下したポリシーの名前が付いています。プロセスが終了すると、別のプロセスがセッションを引き継ぎます。予算は呼び出しの前に確保され、後で精算されます。",
  korean:
    "런타임은 일어난 모든 일을 기록하며, 각 결정에는 그것을 내린 정책의 이름이 붙습니다. 프로세스가 종료되면 다른 프로세스가 세션을 이어받습니다. 예산은 호출 전에 예약되고 호출 후에 정산됩니다.",
  russian:
    "Среда выполнения ведёт журнал всего, что произошло, и каждое решение называет политики, которые его приняли. Когда процесс умирает, другой продолжает сеанс с того же места.",
  greek:
    "Το σύστημα καταγράφει όλα όσα συνέβησαν και κάθε απόφαση αναφέρει τις πολιτικές που την έλαβαν. Όταν μια διεργασία τερματιστεί, μια άλλη συνεχίζει τη συνεδρία.",
  arabic:
    "يحتفظ وقت التشغيل بسجل لكل ما حدث، ويذكر كل قرار السياسات التي اتخذته. عندما تنتهي عملية ما، تتولى عملية أخرى الجلسة من حيث توقفت.",
  hebrew: "סביבת הריצה שומרת יומן של כל מה שקרה, וכל החלטה מציינת את המדיניות שקבעה אותה. כאשר תהליך מסתיים, תהליך אחר ממשיך את השיחה.",
  hindi:
    "रनटाइम जो कुछ हुआ उसका लेखा रखता है, और हर निर्णय उन नीतियों का नाम बताता है जिन्होंने उसे लिया। जब एक प्रक्रिया समाप्त होती है, तो दूसरी वहीं से आगे बढ़ती है।",
  thai: "ระบบจะบันทึกทุกสิ่งที่เกิดขึ้น และทุกการตัดสินใจจะระบุนโยบายที่เป็นผู้ตัดสิน เมื่อกระบวนการหนึ่งสิ้นสุดลง อีกกระบวนการหนึ่งจะทำงานต่อจากจุดเดิม",
  tamil: "இயக்க நேரம் நடந்த அனைத்தையும் பதிவு செய்கிறது, ஒவ்வொரு முடிவும் அதை எடுத்த கொள்கைகளின் பெயரைக் குறிப்பிடுகிறது.",
  amharic: "የአሂድ ጊዜው የተከሰተውን ሁሉ ይመዘግባል፣ እያንዳንዱ ውሳኔ የወሰኑትን ፖሊሲዎች ስም ይጠቅሳል።",
  emoji: "Done ✅ 🎉🚀 failed ❌ waiting ⏳ 👩‍💻👨‍👩‍👧‍👦 🇩🇪🇯🇵",
  json: JSON.stringify({
    id: "s_00000001",
    amount: 12.5,
    tags: ["a", "b"],
    nested: { path: "/var/log/x.txt", ok: true, ids: [1, 22, 333, 4444] },
  }),
  code: "export function widen(messages: readonly Message[], w: Window): void {\n  while (w.tokens > budget && dropOldest(messages, w)) {}\n}\n",
  hex: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  base64: "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ",
  digits: "4242 1000000007 3.14159265358979 2026-11-15T08:58:15Z 192.168.100.254 +49-30-1234567",
};

const o200k = tokenizers("o200k_base");

describe("the estimate", () => {
  test.each(Object.entries(CORPUS))("C-4 %s: not below 0.8 of the real count, not above 2 times", (_, text) => {
    const real = o200k(text);
    expect(estimateTokens(text) / real).toBeGreaterThanOrEqual(0.8);
    expect(estimateTokens(text) / real).toBeLessThanOrEqual(2);
  });

  test("C-4 what is set aside for an estimated request, 1.25 times the estimate, is never less than the real count of the corpus", () => {
    for (const text of Object.values(CORPUS)) expect(Math.ceil(estimateTokens(text) * 1.25)).toBeGreaterThanOrEqual(o200k(text));
  });

  test("C-4 no text is no token, and one character is at least one", () => {
    expect(estimateTokens("")).toBe(0);
    for (const c of ["a", " ", "漢", "가", "🧨", "\ud800"]) expect(estimateTokens(c)).toBeGreaterThanOrEqual(1);
  });
});

describe("tokenizers", () => {
  test("C-4 the counts are those of the tokenizer's own", () => {
    expect(o200k("hello world")).toBe(2);
    expect(tokenizers("cl100k_base")("tiktoken is great!")).toBe(6);
    expect(tokenizers("nobody-has-it")("hello world")).toBe(estimateTokens("hello world"));
  });

  test("C-4 what looks like a special token is text", () => {
    expect(o200k("a <|endoftext|> b")).toBeGreaterThan(5);
  });

  test("C-4 a long run without a space is counted in pieces: about the same, and not with the square of its length", () => {
    const run = "漢字仮名交じり文".repeat(60);
    const whole = o200k("漢字仮名交じり文".repeat(20));
    expect(o200k(run) / (whole * 3)).toBeGreaterThan(0.95);
    expect(o200k(run) / (whole * 3)).toBeLessThan(1.05);
    expect(o200k("🧨".repeat(5_000))).toBeGreaterThan(5_000); // seconds, were it whole
  });

  test("C-4 an agent's tokenizer is what its model implies, or what it says", () => {
    const of = (model: string, tokenizer?: string) =>
      defineAgent({ name: "a", instructions: "x", model, ...(tokenizer === undefined ? {} : { tokenizer }) }).tokenizer;
    expect([
      of("openai/gpt-4o-mini"),
      of("openai/o3"),
      of("openai/gpt-5.2"),
      of("openai/gpt-4-turbo"),
      of("anthropic/claude"),
      of("offline/echo"),
    ]).toEqual(["o200k_base", "o200k_base", "o200k_base", "cl100k_base", "estimate", "estimate"]);
    expect(of("local/llama", "o200k_base")).toBe("o200k_base");
    expect(() => of("local/llama", "mine")).toThrow("`tokenizer`");
  });
});
