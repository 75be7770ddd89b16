"""Text to count: prose in many languages, code, and everything that tokenizers stumble over.

Nothing is downloaded and nothing depends on the clock: the same arguments give the same text.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterator

PROSE: dict[str, str] = {
    "english": """
I started baking bread last winter because the shop near us closed and the next one is half an hour
away. The first loaves were flat and a bit sour, but nobody complained, and by spring I could tell from
the smell whether the dough was ready. What surprised me most is how little you need: flour, water, salt
and patience. If you want to try it yourself, keep some of yesterday's dough in the fridge and feed it
every few days. My neighbour says hers is older than her daughter. Could you write down a plan for a
weekend, with times, so that the oven is free for lunch on Sunday? I don't mind getting up early, but
I'd rather not spend the whole evening in the kitchen again.
""",
    "spanish": """
El año pasado nos mudamos a un pueblo pequeño cerca de la costa, y al principio todo nos parecía
demasiado tranquilo. Por las mañanas se oye el mar y, los jueves, el camión que trae la fruta. Mis hijos
van a la escuela andando, cosa que en la ciudad era imposible. Lo que más echo de menos es la librería
de la esquina, donde siempre encontraba algo que no estaba buscando. ¿Me podrías recomendar tres novelas
cortas para leer en la playa? No hace falta que sean nuevas, pero preferiría que no fueran demasiado
tristes. También me gustaría saber si están traducidas.
""",
    "portuguese": """
Quando cheguei ao escritório, a reunião já tinha começado e ninguém sabia onde estavam os documentos do
cliente. Passámos quase uma hora a procurar, até que a Joana se lembrou de que os tinha deixado no
carro. Não foi um bom começo, mas no fim correu melhor do que esperávamos. O cliente gostou da proposta
e pediu apenas duas alterações. Você poderia me ajudar a escrever uma mensagem simpática, curta e clara,
agradecendo a paciência de todos? Não quero parecer formal demais, porque trabalhamos juntos há muitos
anos e já nos conhecemos bem.
""",
    "french": """
Depuis quelques semaines, je prends le train de sept heures pour éviter la foule, et j'ai découvert que
c'est le meilleur moment de la journée pour lire. Le contrôleur nous connaît tous et ne demande presque
plus les billets. Hier, pourtant, il y a eu une panne près de la rivière et nous sommes restés assis
dans le noir pendant une heure. Personne ne s'est énervé ; une dame a même partagé ses biscuits.
Pourrais-tu m'expliquer pourquoi une simple branche sur la voie suffit à bloquer toute la ligne ?
J'aimerais comprendre comment fonctionne la signalisation.
""",
    "italian": """
Mio nonno aveva un orto dietro casa e ogni estate ci regalava cassette piene di pomodori che nessuno
riusciva a finire. Adesso l'orto è mio, e mi accorgo di quanto lavoro ci fosse dietro. Quest'anno ho
piantato anche le zucchine, i fagioli e qualche erba aromatica, ma le lumache hanno mangiato quasi tutto
il basilico. Sai dirmi se esiste un modo per tenerle lontane senza usare veleni? Ho sentito parlare
della birra e della cenere, però non so che cosa funzioni davvero. Se possibile, vorrei un consiglio che
non costi troppo e che vada bene anche per un piccolo balcone.
""",
    "german": """
Eigentlich wollten wir am Wochenende nur den Keller aufräumen, aber dann haben wir die alten Fotoalben
gefunden und den ganzen Nachmittag darin geblättert. Auf vielen Bildern weiß niemand mehr, wer die Leute
sind. Meine Tante könnte es wissen, doch sie wohnt inzwischen in Norwegen und telefoniert nicht gern.
Ich überlege deshalb, die Fotos einzuscannen und ihr zu schicken. Welche Auflösung würdest du empfehlen,
damit man später noch Abzüge machen kann? Außerdem bräuchte ich eine Möglichkeit, zu jedem Bild eine
kurze Beschreibung zu speichern, am liebsten so, dass sie auch in zwanzig Jahren noch lesbar ist.
""",
    "dutch": """
Vorige week heb ik eindelijk mijn oude fiets laten repareren, want de ketting liep er bij elke bocht af.
De man van de winkel zei dat het goedkoper was om een nieuwe te kopen, maar ik ben aan dit ding gehecht.
Hij heeft het stuur rechtgezet, de remmen vervangen en zelfs de bel weer aan de praat gekregen. Nu wil
ik er in juli mee naar zee rijden. Kun je een rustige route voor me bedenken waarbij ik zo min mogelijk
langs drukke wegen kom? Onderweg zou ik graag ergens koffie drinken en misschien even zwemmen als het
weer meezit.
""",
    "swedish": """
Min syster har köpt ett litet hus i skogen och nu undrar hela familjen hur hon ska klara vintern. Det
finns en vedspis i köket och ett element som knappt fungerar. Hon säger att tystnaden är värd allt
besvär, och när jag hälsade på förra helgen förstod jag vad hon menade. På kvällen hörde vi bara ugglor
och vinden. Kan du hjälpa mig att göra en lista över sådant man bör ha hemma om vägen snöar igen? Hon
har redan ljus, tändstickor och gott om mat, men jag tror att hon har glömt något viktigt.
""",
    "polish": """
Wczoraj po raz pierwszy od wielu lat poszedłem na koncert i muszę przyznać, że było znacznie głośniej,
niż pamiętałem. Zespół grał prawie trzy godziny, a publiczność znała wszystkie słowa na pamięć. Wróciłem
do domu pieszo, bo ostatni tramwaj już odjechał, i przez całą drogę nuciłem jedną piosenkę. Czy mógłbyś
znaleźć sposób, żeby zapisać ją na papierze, skoro nie znam nut? Wystarczy mi coś prostego, na przykład
same akordy i tekst. Chciałbym zagrać ją bratu na urodziny, które wypadają już w przyszłą sobotę.
""",
    "czech": """
Když jsme byli malí, jezdili jsme každé léto k babičce na venkov a celé dny jsme trávili u rybníka.
Dneska je tam parkoviště a z rybníka zbyla jen louže, ale stará lípa před domem pořád stojí. Loni do ní
uhodil blesk a všichni mysleli, že uschne. Letos na jaře však vyrašily nové větve. Rád bych o tom napsal
krátkou povídku, jenže nevím, jak začít. Můžeš mi navrhnout tři různé úvodní věty? Jedna by měla být
veselá, druhá vážná a třetí klidně trochu tajemná.
""",
    "romanian": """
Bunica mea gătește fără nicio rețetă scrisă și spune mereu că mâncarea bună se face din ochi. Am
încercat să notez tot ce pune în oală, dar de fiecare dată iese altceva. Duminica trecută am filmat-o pe
ascuns și acum știu măcar în ce ordine adaugă legumele. Ai putea să transformi notițele mele într-o
rețetă pe care s-o înțeleagă și fratele meu, care abia știe să fiarbă un ou? Aș vrea să fie împărțită în
pași scurți, cu timpul necesar pentru fiecare.
""",
    "hungarian": """
Tavaly ősszel beiratkoztam egy esti tanfolyamra, mert mindig is szerettem volna megtanulni fényképezni.
Az első órán kiderült, hogy a többiek jóval fiatalabbak nálam, és mindenkinek komoly gépe van. Én a
nagyapám régi masináját vittem magammal, amelyiken még tekerni kell a filmet. A tanár nagyon megörült
neki, és az egész csoport kipróbálta. Tudnál abban segíteni, hogyan mérjem meg a fényt, ha nincs a
gépben semmilyen műszer? Egyszerű szabályra volna szükségem, amelyet kirándulás közben is fejben tudok
tartani.
""",
    "finnish": """
Kesämökillä ei ole sähköä, joten illat kuluvat korttia pelatessa ja vanhoja tarinoita kertoessa.
Naapurin isäntä tuo joskus tuoretta kalaa ja jää istumaan portaille, kunnes aurinko laskee. Lapset
oppivat siellä enemmän kuin koko lukuvuoden aikana koulussa. Tänä vuonna laituri pitäisi korjata ennen
juhannusta, koska jää rikkoi sen keväällä. Osaisitko neuvoa, millaista puuta siihen kannattaa käyttää ja
kuinka paksuja lautojen pitäisi olla? Haluaisin tehdä sen kerralla kunnolla, ettei samaa tarvitse
toistaa joka toinen vuosi.
""",
    "turkish": """
Geçen ay işten ayrıldım ve şimdi sabahları sahilde yürüyüp gazetemi kahvaltıdan önce okuyorum. İlk
günlerde ne yapacağımı bilemedim, ama insan boş zamana çabuk alışıyor. Mahalledeki marangoz bana ahşap
oymayı öğretmeye söz verdi; karşılığında ben de onun hesaplarını tutacağım. Evde küçük bir atölye kurmak
istiyorum, fakat yerim çok dar. Bana hangi aletlerle başlamam gerektiğini söyleyebilir misin? Gürültü
yapmayan ve komşuları rahatsız etmeyen şeyler olursa çok sevinirim.
""",
    "vietnamese": """
Sáng nay trời mưa to nên tôi không đi chợ mà ở nhà dọn lại tủ sách. Nhiều quyển tôi đã quên mất là mình
từng mua, có quyển còn kẹp cả vé xe buýt từ mười năm trước. Con gái tôi hỏi vì sao tôi không đọc trên
điện thoại cho tiện. Tôi bảo rằng mùi giấy cũ làm tôi nhớ thời đi học. Bạn có thể giúp tôi nghĩ cách sắp
xếp sách sao cho dễ tìm không? Tôi có khoảng bốn trăm quyển, phần lớn là truyện ngắn, thơ và vài cuốn từ
điển rất nặng.
""",
    "indonesian": """
Kemarin saya membantu paman memanen cabai di kebunnya, dan sampai sekarang tangan saya masih terasa
panas. Hujan turun hampir setiap sore, jadi kami harus bekerja cepat sebelum jalan menjadi licin. Harga
cabai sedang naik, tetapi paman bilang biaya angkutnya juga tidak murah. Ia ingin menjual langsung
kepada pembeli di kota tanpa perantara. Bisakah kamu membuatkan pesan singkat yang sopan untuk
ditawarkan kepada beberapa rumah makan? Kalau bisa, jelaskan juga bagaimana cara menyimpan cabai supaya
tetap segar lebih lama.
""",
    "swahili": """
Jana jioni tulikaa nje ya nyumba tukisikiliza hadithi za babu kuhusu safari yake ya kwanza kwenda mjini.
Alisafiri siku tatu kwa lori, na njiani walilala kando ya mto kwa sababu daraja lilikuwa limevunjika.
Watoto walicheka aliposema kwamba hakuwahi kuona taa za barabarani kabla ya siku hiyo. Ningependa
kuandika hadithi hizi ili zisipotee. Je, unaweza kunisaidia kupanga maswali ambayo nitamuuliza kesho?
Nataka aeleze pia kuhusu chakula, muziki na marafiki aliokutana nao.
""",
    "russian": """
В прошлом месяце мы наконец закончили ремонт, и теперь в квартире пахнет краской и свежими досками. Кот
первые дни прятался под ванной, а потом решил, что новый подоконник сделали специально для него. Самым
трудным оказалось выбрать цвет стен: мы спорили две недели и в итоге взяли тот же, что был раньше.
Подскажи, пожалуйста, как ухаживать за деревянным полом, чтобы он не потемнел? В магазине советуют
разные масла, но стоят они дорого, и я не понимаю, чем одно отличается от другого.
""",
    "ukrainian": """
Моя донька цього року пішла до першого класу й тепер щовечора розповідає, хто з ким посварився і хто
кому подарував наліпку. Учителька каже, що вона добре читає, але поспішає, коли пише. Ми домовилися
щодня робити по п'ять хвилин вправ, і це вже схоже на гру. Чи не міг би ти придумати кілька коротких
речень, у яких усі слова починаються з однієї літери? Бажано, щоб вони були кумедні й не надто довгі, бо
інакше вона втрачає терпіння.
""",
    "greek": """
Το καλοκαίρι δουλεύω στο μαγαζί του θείου μου, ένα μικρό καφενείο δίπλα στο λιμάνι. Το πρωί έρχονται οι
ψαράδες και το μεσημέρι οι τουρίστες, που ρωτούν πάντα τα ίδια πράγματα. Χθες ένας κύριος ήθελε να μάθει
πώς φτιάχνεται ο καφές και έμεινε μία ώρα στην κουζίνα. Θα ήθελα να γράψω έναν κατάλογο στα αγγλικά,
αλλά φοβάμαι ότι θα κάνω λάθη. Μπορείς να μου πεις πώς να περιγράψω τα γλυκά, ώστε να καταλαβαίνει
κανείς τι περιέχουν;
""",
    "arabic": """
انتقلت إلى هذه المدينة قبل ثلاث سنوات، وما زلت أكتشف كل أسبوع شارعا لم أره من قبل. أجمل ما فيها السوق
القديم، حيث يعرف الباعة أسماء زبائنهم ويسألون عن أولادهم. في الشتاء تمطر قليلا فتخلو الأزقة وتفوح رائحة
الخبز من كل مكان. أريد أن أكتب رسالة إلى صديق يفكر في زيارتي، وأن أشرح له كيف يصل من المطار إلى بيتي. هل
يمكنك أن تقترح علي بداية لطيفة؟ لا أريدها طويلة، بل واضحة ومرحة.
""",
    "persian": """
پدربزرگم هر روز عصر کنار پنجره می‌نشست و به گنجشک‌ها دانه می‌داد. حالا که خانه خالی مانده، پرنده‌ها هنوز
همان ساعت می‌آیند و روی نرده منتظر می‌مانند. من گاهی بعد از کار سر می‌زنم و برایشان کمی برنج می‌ریزم.
همسایه‌ها می‌گویند این کار را ادامه بده، چون کوچه بدون صدای آن‌ها خیلی ساکت است. می‌توانی به من بگویی در
زمستان چه غذایی برای پرنده‌ها بهتر است؟
""",
    "hebrew": """
בשבוע שעבר מצאתי בארון קופסה מלאה מכתבים שסבתא שלי כתבה כשהייתה סטודנטית. הכתב צפוף והדיו דהה, אבל אפשר
עדיין לקרוא כמעט הכול. היא מספרת על החדר הקטן ששכרה, על הגשם שדלף מהתקרה ועל חברים שאיש מאיתנו לא הכיר.
אני רוצה להקליד את המכתבים ולחלק עותקים לכל המשפחה. האם תוכל להציע לי דרך פשוטה לסדר אותם לפי תאריך?
בחלקם חסרה השנה ונשאר רק היום בשבוע.
""",
    "hindi": """
हमारे मोहल्ले में एक पुराना पुस्तकालय है, जहाँ अब बहुत कम लोग जाते हैं। पिछले हफ़्ते मैं वहाँ बारिश से
बचने के लिए रुका और तीन घंटे बैठा रहा। बूढ़े पुस्तकालयाध्यक्ष ने मुझे चाय पिलाई और वह किताब दिखाई जो
उन्हें सबसे प्यारी है। मैं चाहता हूँ कि बच्चे भी वहाँ आएँ और कहानियाँ सुनें। क्या आप मुझे रविवार के लिए
एक छोटे कार्यक्रम की योजना बनाने में मदद कर सकते हैं? हमारे पास ज़्यादा पैसे नहीं हैं, पर जगह काफ़ी बड़ी
है।
""",
    "bengali": """
ছোটবেলায় আমরা নদীর ধারে থাকতাম, আর বর্ষাকালে উঠোন পর্যন্ত জল চলে আসত। বাবা তখন নৌকা করে বাজারে যেতেন
এবং ফেরার সময় আমাদের জন্য মুড়ি আনতেন। এখন শহরে থাকি, তবু বৃষ্টির শব্দ শুনলে সেই দিনগুলোর কথা মনে পড়ে।
আমি ছেলেকে সেই গল্প লিখে দিতে চাই। তুমি কি আমাকে শুরুটা লিখতে সাহায্য করতে পারো? ভাষা সহজ হলে ভালো হয়,
কারণ ওর বয়স মাত্র আট বছর।
""",
    "tamil": """
எங்கள் வீட்டுக்குப் பின்னால் ஒரு பெரிய மாமரம் இருக்கிறது, அதன் நிழலில்தான் நாங்கள் மாலை நேரத்தில்
உட்கார்ந்து பேசுவோம். கோடைக்காலத்தில் பழங்கள் விழும் சத்தம் கேட்டால் எல்லோரும் ஓடுவார்கள். அம்மா அந்தப்
பழங்களில் ஊறுகாய் போட்டு உறவினர்களுக்குக் கொடுப்பார். இந்த ஆண்டு மரத்தில் பூக்கள் குறைவாக உள்ளன. அதற்கு
என்ன காரணம் என்று சொல்ல முடியுமா?
""",
    "telugu": """
మా ఊరిలో ప్రతి శనివారం సంత జరుగుతుంది, చుట్టుపక్కల గ్రామాల నుంచి చాలా మంది వస్తారు. నాన్న నన్ను
చిన్నప్పుడు ఎద్దుల బండి మీద తీసుకెళ్లేవారు. ఇప్పుడు రోడ్డు బాగుంది కానీ ఆ ప్రయాణంలో ఉన్న ఆనందం లేదు. ఆ
జ్ఞాపకాలను రాసి దాచుకోవాలని అనుకుంటున్నాను. మీరు నాకు కొన్ని సలహాలు ఇవ్వగలరా?
""",
    "thai": """
ร้านก๋วยเตี๋ยวหน้าปากซอยเปิดมาตั้งแต่ก่อนฉันเกิด และรสชาติก็ยังเหมือนเดิมทุกอย่าง
คุณป้าเจ้าของร้านจำได้ว่าใครไม่กินผักและใครชอบเผ็ด เมื่อวานแกบอกว่าปีหน้าจะปิดร้านเพราะลูกอยากให้พักผ่อน
พวกเราเลยคิดจะทำสมุดรวมเรื่องเล่าจากลูกค้าไว้เป็นของขวัญ ช่วยคิดคำถามสักสิบข้อที่จะถามลูกค้าเก่าได้ไหม
อยากให้ตอบง่ายและไม่ยาวเกินไป
""",
    "chinese": """
上个周末我和几个老同学去爬山，没想到半路下起了大雨，只好躲进一座小庙里。看庙的老人给我们泡了热茶，还讲了
许多从前的故事。他说年轻的时候每天要走两个小时的山路去上学，冬天鞋子里全是雪。雨停了以后，我们沿着小溪慢
慢往下走，空气特别清新。你能不能帮我写一封感谢信？我想把照片也一起寄给他，但是不知道他识不识字，所以信最
好简单一点。另外，请告诉我山里的邮件一般要几天才能送到。
""",
    "traditional-chinese": """
外婆家的院子裡種了一棵很老的桂花樹，每到秋天整條巷子都聞得到香味。小時候我們常常在樹下鋪一塊布，等花瓣落
下來，再拿去給外婆做糖。現在她年紀大了，不太能站著煮東西，所以換成我們做給她吃。昨天我試了兩次都失敗，糖
不是太硬就是太苦。請問熬糖的時候火候應該怎麼控制？如果家裡沒有溫度計，有沒有別的辦法可以判斷？
""",
    "japanese": """
先週の土曜日、久しぶりに祖父の家へ行って、庭の手入れを手伝いました。柿の木が思ったより大きくなっていて、
梯子を使っても上の枝には届きません。祖父は「鳥の分も残しておけばいい」と笑っていました。昼ごはんのあとで
昔の写真を見せてもらい、母が子どものころの話をたくさん聞きました。来月は家族みんなで集まる予定なので、簡
単な料理を用意したいと思っています。十人くらいで食べられて、前の日に準備できるものを教えてもらえますか。
できればオーブンを使わないレシピだと助かります。
""",
    "korean": """
지난달부터 퇴근하고 나서 동네 수영장에 다니기 시작했는데, 생각보다 훨씬 힘들지만 기분이 좋아요. 처음에는
물에 뜨는 것도 어려웠어요. 옆 레인에서 수영하시는 할머니께서 숨 쉬는 방법을 알려 주셔서 이제는 조금씩
앞으로 나갈 수 있습니다. 다음 주에는 친구도 같이 오기로 했어요. 혹시 초보자가 집에서 할 수 있는 준비
운동을 몇 가지 알려 주실 수 있나요? 무릎이 조금 아픈 편이라서 무리가 가지 않는 동작이면 좋겠습니다.
""",
    "georgian": """
ჩვენს სოფელში შემოდგომა ყველაზე ლამაზი დროა, რადგან მთები წითელი და ყვითელი ხდება. ბაბუა ყოველ წელს
ღვინოს წურავს და მეზობლებს იწვევს. წელს მოსავალი ცოტა იყო, მაგრამ სუფრა მაინც სავსე იყო. მინდა, რომ ეს
დღე ფოტოებით შევინახო და ბავშვებს მოვუყვე. როგორ ჯობია ალბომის დალაგება?
""",
    "armenian": """
Ամեն ամառ մենք գնում ենք տատիկիս տուն, որը գտնվում է լճի ափին։ Առավոտյան ձկնորսները վերադառնում են, իսկ
երեխաները վազում են նրանց դիմավորելու։ Երեկոյան բոլորը հավաքվում են բակում և երգում հին երգեր։ Ես
կուզենայի գրի առնել այդ երգերը, բայց շատ բառեր չեմ հասկանում։ Կարո՞ղ ես օգնել ինձ։
""",
}

CODE: dict[str, str] = {
    "python": '''
from dataclasses import dataclass, field


@dataclass
class Shelf:
    """A shelf with room for `width` centimetres of books."""

    width: float
    books: list[str] = field(default_factory=list)

    def add(self, title: str, thickness: float = 2.5) -> bool:
        if thickness > self.free():
            return False
        self.books.append(title)
        self.width -= thickness  # what is left, not what there was
        return True

    def free(self) -> float:
        return max(0.0, self.width)


if __name__ == "__main__":
    shelf = Shelf(width=80.0)
    for number in range(1, 40):
        if not shelf.add(f"Volume {number:03d}"):
            print("full after", len(shelf.books), "books")
            break
''',
    "javascript": """
export async function loadGuests(url, { retries = 3, signal } = {}) {
  for (let attempt = 0; attempt <= retries; attempt++) {
    const response = await fetch(`${url}?page=${attempt}`, { signal });
    if (response.ok) {
      const { guests } = await response.json();
      return guests.filter((guest) => guest.isComing !== false);
    }
    console.warn("retrying", response.status);
  }
  throw new Error("no answer after " + retries + " retries");
}
""",
    "c": """
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
\tconst unsigned int a = *(const unsigned int *)left;
\tconst unsigned int b = *(const unsigned int *)right;

\treturn (a > b) - (a < b);
}

int main(int argc, char **argv)
{
\tunsigned int values[] = {0x1F, 42, 7, 0xDEADBEEF, 1000000};
\tsize_t count = sizeof(values) / sizeof(values[0]);

\tqsort(values, count, sizeof(values[0]), compare);
\tfor (size_t i = 0; i < count; ++i)
\t\tprintf("%zu: %u\\n", i, values[i]);
\treturn argc > 1 ? atoi(argv[1]) : EXIT_SUCCESS;
}
""",
    "rust": """
pub fn longest_run(values: &[u32]) -> Option<(u32, usize)> {
    let mut best: Option<(u32, usize)> = None;
    let mut current = 0usize;
    for (index, value) in values.iter().enumerate() {
        current = if index > 0 && values[index - 1] == *value { current + 1 } else { 1 };
        match best {
            Some((_, length)) if length >= current => {}
            _ => best = Some((*value, current)),
        }
    }
    best
}
""",
    "json": """
{
  "orders": [
    {"id": 10482, "customer": "c-77", "total": 129.9, "paid": true, "tags": ["gift", "express"], "note": null},
    {"id": 10483, "customer": "c-12", "total": 8.25, "paid": false, "tags": [], "note": "leave at the door"}
  ],
  "next": "https://shop.example/api/orders?after=10483&limit=50"
}
""",
    "html": """
<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <link rel="stylesheet" href="/static/main.css?v=3">
    <title>Opening hours</title>
  </head>
  <body class="page page--wide">
    <h1 id="top">Opening hours</h1>
    <p>We are open from <strong>9:00</strong> to 17:30, except on <a href="#holidays">holidays</a>.</p>
  </body>
</html>
""",
    "sql": """
SELECT c.name, COUNT(*) AS orders, SUM(o.total) AS spent
FROM customers AS c
LEFT JOIN orders AS o ON o.customer_id = c.id AND o.paid = TRUE
WHERE c.created_at >= '2024-01-01' AND c.country IN ('NO', 'PT', 'JP')
GROUP BY c.name
HAVING COUNT(*) > 2
ORDER BY spent DESC NULLS LAST
LIMIT 20;
""",
    "shell": """
#!/bin/sh
set -eu
for file in "$@"; do
    case "$file" in
        *.log) gzip -9 -- "$file" && echo "packed $file" ;;
        *) printf '%s\\n' "skipped: $file" >&2 ;;
    esac
done
find . -name '*.tmp' -mtime +7 -print0 | xargs -0 rm -f
""",
    "markdown": """
## Packing list

| item | pieces | weight |
| --- | ---: | ---: |
| tent | 1 | 2.4 kg |
| stove | 1 | 310 g |

1. Check the **weather** first.
2. Charge the lamp (`USB-C`), see [the manual](https://lamp.example/manual#charging).

- [x] socks
- [ ] a map, on paper
""",
}

FRAGMENTS: tuple[str, ...] = (
    *("<|endoftext|>", "<|endofprompt|>", "<|im_start|>", "<|fim_prefix|>", "<｜User｜>", "<think>", "[INST]"),
    *("I'm", "YOU'RE", "don'T", "we'LL", "It'S", "they'Ve", "'tis", "o'clock", "it’s", "x'ſ", "'K"),
    *("😀", "👍🏽", "👩‍👩‍👧‍👦", "🇳🇴", "🇯🇵🇵🇹", "🏴󠁧󠁢󠁷󠁬󠁳󠁿", "❤️", "🫨", "🧑🏿‍🚀", "5️⃣"),
    *("e\u0301", "n\u0303o", "Z\u0351\u036b\u0343", "ก็", "क्ष", "நி", "ﷺ", "ﬁ", "Å", "ǅ", "ß", "ŉ", "ª", "ʰ"),
    *("゛", "ー", "・", "゠", "龥", "龦", "ltr \u202eabc\u202c", "\u200fשלום\u200e"),
    *("a\u200bb", "a\u200db", "a\u00adb", "\ufeff", "x\u2060y", "\u00a0", "\u3000", "\u2028", "\x85"),
    *(" ", "  ", "   ", "\t", "\t\t", "\n", "\n\n", "\r\n", "\r\n\r\n", "\r", " \n ", "\n\t"),
    *("\x00", "\x01\x02", "\x1b[0m", "\x1c", "\x1f", "\x7f", "\ufffd", "\ue000", "\U0010fffd", "\uffff"),
    *("7", "42", "007", "1234", "3.14159", "1,000,000", "2024-05-17T08:30:00Z", "٣٤٥", "१२३", "½", "Ⅷ", "①②③"),
    *("foo_bar", "fooBarBaz", "HTTPServer2", "__init__", "a.b.c", "C++", "#!/bin", "://", "\\n", "</div>"),
    *("-->", "!=", "===", "!!!", "...", "…", "—", "«»", "¿¡", "%s", "$100", "€5", "0xFFFF", "@name"),
    *("user@host.example", "https://a.example/b?c=d&e=f#g"),
)
"""Small texts that tokenizers treat in their own ways."""

BLOCKS: tuple[tuple[int, int], ...] = (
    *((0x00, 0x80), (0x80, 0x250), (0x250, 0x300), (0x300, 0x370), (0x370, 0x530), (0x530, 0x700)),
    *((0x700, 0x900), (0x900, 0xE00), (0xE00, 0x1000), (0x1000, 0x1400), (0x1400, 0x1E00), (0x1C80, 0x1C90)),
    *((0x1E00, 0x2000), (0x2000, 0x2C00), (0x2C00, 0x3000), (0x3000, 0x3400), (0x3400, 0x4E00)),
    *((0x4E00, 0x9FFF), (0x9F00, 0xA700), (0xA700, 0xAC00), (0xA7C0, 0xA7E0), (0xAC00, 0xD7FF)),
    *((0xE000, 0xE020), (0xF900, 0xFFFF), (0x10000, 0x10400), (0x105C0, 0x10600), (0x10D40, 0x10D90)),
    *((0x11380, 0x11400), (0x16D40, 0x16D80), (0x1CC00, 0x1CEC0), (0x1D400, 0x1D800), (0x1E5D0, 0x1E600)),
    *((0x1F000, 0x1F700), (0x1F900, 0x1FC00), (0x20000, 0x20100), (0x323B0, 0x323F0), (0xE0000, 0xE01F0)),
)
"""Ranges of code points: scripts, symbols, and blocks that are new, private or not assigned yet."""


def mixed_text(size: int, *, seed: int = 1) -> str:
    """Give at least `size` characters in which all of the above stands in a random order."""
    rng = random.Random(seed)
    pieces: list[str] = []
    length = 0
    while length < size:
        piece = rng.choice(_MAKERS)(rng)
        pieces.append(piece)
        length += len(piece)
    return "".join(pieces)


def strange_texts(count: int, *, seed: int = 1) -> Iterator[str]:
    """Give `count` short texts of fragments and random characters, with no prose in them."""
    rng = random.Random(seed)
    for _ in range(count):
        yield "".join(rng.choice((_fragment, _characters, _word))(rng) for _ in range(rng.randint(1, 8)))


def prose(language: str) -> str:
    """Give the paragraph in a language, without the line breaks around it."""
    return PROSE[language].strip()


def _prose(rng: random.Random) -> str:
    text = prose(rng.choice(tuple(PROSE)))
    start = rng.randrange(len(text))
    return text[start : start + rng.randint(20, 600)] + rng.choice((" ", "\n", "\n\n", "\r\n"))


def _code(rng: random.Random) -> str:
    lines = rng.choice(tuple(CODE.values())).splitlines(keepends=True)
    start = rng.randrange(len(lines))
    text = "".join(lines[start : start + rng.randint(1, 12)])
    return text.replace("\n", "\r\n") if rng.random() < 0.2 else text


def _fragment(rng: random.Random) -> str:
    return "".join(rng.choice(FRAGMENTS) for _ in range(rng.randint(1, 6)))


def _characters(rng: random.Random) -> str:
    first, end = rng.choice(BLOCKS)
    return "".join(chr(rng.randrange(first, end)) for _ in range(rng.randint(1, 12)))


def _word(rng: random.Random) -> str:
    word = "".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(rng.randint(1, 6)))
    return rng.choice(
        (word, word.title(), word.upper(), " " + word, word + "-", word + str(rng.randrange(10_000)))
    )


def _run(rng: random.Random) -> str:
    return rng.choice(" \n\taA0!=-é漢あ한😀\u0301\x00") * rng.randint(2, 300)


def _secret(rng: random.Random) -> str:
    letters = rng.choice((string.hexdigits, string.ascii_letters + string.digits + "+/"))
    return "".join(rng.choice(letters) for _ in range(rng.randint(8, 80)))


_MAKERS = (_prose, _prose, _prose, _code, _code, _fragment, _characters, _word, _run, _secret)
