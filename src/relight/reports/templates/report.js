const open = (id) => {
  const target = id && document.getElementById(id);
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  if (target) target.scrollIntoView();
};
if (matchMedia("(max-width: 42rem)").matches) for (const part of document.querySelectorAll("details.long")) part.open = false;
addEventListener("hashchange", () => open(decodeURIComponent(location.hash.slice(1))));
open(decodeURIComponent(location.hash.slice(1)));
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const part of closed) part.open = true;
});
addEventListener("afterprint", () => { for (const part of closed) part.open = false; });
for (const button of document.querySelectorAll("button.copy")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}
